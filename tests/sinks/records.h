#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/metrics/record/run_record.h"
#include "io/metrics/sink.h"
#include "tests/support/temporary_directory.h"

namespace stoker {

// A run directory and a hub for sinks, which must go before it.
struct SinkRig {
  TemporaryDirectory run;
  Hub hub;
  std::vector<std::string> log;
  std::vector<std::string> failures;  // of threads of the sink's own

  // make("{type: csv}")
  std::unique_ptr<MetricsSink> make(const std::string& yaml) {
    const Node node = parse_yaml(yaml, "test.yaml");
    return Registry<MetricsSink>::global()
        .parse(Section(node, "", MetricsSink::kKind, nullptr))
        .create({.run_dir = run.path(),
                 .log = [this](const std::string& line) { log.push_back(line); },
                 .hub = hub,
                 .ends_by = [] { return std::optional<TimePoint>(); },
                 .failed = [this](const std::string& error) { failures.push_back(error); }});
  }
};

// With everything that a step's record can hold; its numbers are exact in binary. The window of it
// is the whole time.
inline RunRecord full_record(int64_t step) {
  RunRecord r;
  r.run.info.steps_planned = 100;
  r.run.totals.steps = step;
  r.run.totals.epoch = 2;
  r.run.totals.images = 160;
  r.run.totals.wall_s = 2;
  r.run.totals.segments[static_cast<size_t>(Segment::data_wait)] = 0.5;
  r.run.totals.segments[static_cast<size_t>(Segment::compute)] = 1.5;
  r.run.totals.device = {8, 5, 0, {2, 0, 0, 0, 1}};
  r.run.loss = 4.5;
  r.run.learning_rate = 0.0625;
  r.run.evaluation.emplace().measures = {{"top1", 0.5}, {"top5", 0.75}, {"auc", 0.875}};
  CheckpointReport& checkpoints = r.checkpoints.report.emplace();
  checkpoints.saved = 3;
  checkpoints.failed = 1;
  checkpoints.skipped = 2;
  checkpoints.replaced = 4;
  checkpoints.drained = 2;
  checkpoints.drain_retries = 5;
  checkpoints.drains_left = 1;
  checkpoints.saved_step = step - 1;
  checkpoints.durable_step = step - 3;
  checkpoints.set_bytes = 4096;
  return r;
}

// Where nothing was measured.
inline RunRecord bare_record(int64_t step) {
  RunRecord r;
  r.run.totals.steps = step;
  return r;
}

inline void write(MetricsSink& sink, const RunRecord& record) { sink.write(record, record); }

}  // namespace stoker
