#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/metrics/record/figures.h"
#include "io/metrics/sink.h"
#include "io/metrics/tracer.h"
#include "io/sinks/output_file.h"

namespace stoker {

// A CSV file of rows of figures; an empty field was not measured. The first row gives the names, so
// all others need the same fields in the same order. Commas, quotes and control characters in a
// name (a tier's may hold anything) become underscores. A process that is killed leaves whole rows.
// One thread at a time. Throws IoError; a file that is there already is an error.
class CsvFile {
 public:
  // Makes the file at once; names come with the first row.
  explicit CsvFile(const std::string& path) : file_(path) {}
  // One write: the row, before the first one the names. Counts are written with 15 digits, Unix
  // times with 13, all others with 9.
  void add(const std::vector<RowField>& row);

 private:
  const OutputFile file_;
  bool header_ = false;
};

// A consumer of events, called on a thread of the tracer's: f(row). What f cannot write the run
// gets to know at once; the tracer stops calling it.
template <class F>
auto reporting(const MetricsSink::Inputs& inputs, F f) {
  return [failed = inputs.failed, f = std::move(f)](const TraceRow& row) {
    try {
      f(row);
    } catch (const Error& error) {
      failed(error.what());
      throw;
    }
  };
}

// The figures of a step's record that steps.csv, steps.jsonl and TensorBoard get every
// metrics.every_steps steps. Counters are those of the run so far, quotients those of the window.
// The names are the same in every row. Any thread; lives as long as the program.
inline const std::vector<const Figure*>& step_figures() {
  // What the trainer and the checkpoints publish is cheap enough for every step.
  static const std::vector<const Figure*> chosen =
      select_figures({"steps",
                      "epoch",
                      "images",
                      "wall_s",
                      "images_per_s",
                      "loss",
                      "learning_rate",
                      "exposed_io_share",
                      "io_share",
                      "device.idle_share",
                      "device.idle_share_by_cause.{cause}",
                      "segments_s.{segment}",
                      "segments_share.{segment}",
                      "evaluation.accuracy.{measure}",
                      "evaluation.auc",
                      "evaluation.iou",
                      "checkpoints.saved",
                      "checkpoints.failed",
                      "checkpoints.skipped",
                      "checkpoints.drained",
                      "checkpoints.drains_left",
                      "checkpoints.saved_step",
                      "checkpoints.durable_step",
                      "checkpoints.steps_at_risk"});
  return chosen;
}

}  // namespace stoker
