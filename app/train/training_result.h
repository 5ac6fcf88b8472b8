#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/run/cpu_watch.h"
#include "app/train/evaluation.h"
#include "app/train/record.h"
#include "io/checkpoint/checkpointer.h"
#include "io/core/batch.h"
#include "io/core/error.h"

namespace stoker {

struct Evaluation {
  int64_t epoch = 0;
  int64_t step = 0;
  Accuracy accuracy;
  double seconds = 0;
};

// What a run came to: everything that summary.json and the printed summary say. Times are seconds.
// What was not measured is absent.
struct TrainingResult {
  std::string status = "failed";  // completed, stopped (by a signal) or failed
  ExitCode exit_code = ExitCode::ok;
  std::string error;

  int64_t steps = 0;  // of the run: those before a resume included
  int64_t steps_planned = 0;
  int64_t epochs = 0;                                    // completed ones, likewise
  int64_t images = 0;                                    // from here on: of this process
  double wall_s = 0;                                     // of the training loop
  std::vector<std::pair<std::string, double>> segments;  // of the trainer's thread; sum to wall_s
  double closure_error = 0;                              // |sum of segments - wall_s| / wall_s
  double io_share = 0;                                   // data_wait / wall_s
  std::optional<double> first_batch_s;
  std::vector<double> window_rates;  // images/s of each reporting window
  std::optional<double> final_loss;

  double device_observed_s = 0;
  double device_busy_s = 0;
  double device_copy_s = 0;                                 // of batches to it
  std::vector<std::pair<std::string, double>> device_idle;  // by cause
  std::optional<double> au;  // MLPerf Storage: busy / observed, first step excluded

  std::optional<CpuUse> cpu;
  LoadCost load_cost;
  std::vector<Evaluation> evaluations;

  std::string resumed_from;  // path of the checkpoint; empty: from the beginning
  int64_t resumed_step = 0;
  TrainingRecord total;                         // of all processes of the run
  std::optional<CheckpointStatus> checkpoints;  // absent: none configured
  bool checkpoints_abandoned = false;           // writes go on that cannot be waited for
  double checkpoint_flush_s = 0;                // after the loop, until all were where they belong

  std::vector<SkippedSample> skipped;
  std::map<std::string, int64_t> skipped_by_reason;
};

}  // namespace stoker
