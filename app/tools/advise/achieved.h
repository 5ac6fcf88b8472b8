#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "app/tools/advise/choice.h"
#include "app/tools/report/run_files.h"

// What a run has shown: it makes predictions better, and is compared with the prediction of its
// plan.

namespace stoker {

// Seconds of each epoch whose beginning and end are known from steps.csv. Time is taken to pass
// evenly between two rows. An evaluation counts to the epoch before it. resumed: the first step of
// the table is not that of the training. steps_per_epoch: above 0. Pure.
std::vector<double> epoch_seconds(const Table& steps, int64_t steps_per_epoch, bool resumed);

// The pace of a number of steps of this configuration. summary: that of a run with it, or null, and
// then only reading takes time. ranks: how many took part, each with its own readers. Pure.
RunPace pace_of(const ExperimentOptions& options, const nlohmann::json& summary, double steps,
                int64_t ranks);

// A run that staged by a plan, beside what was predicted when the plan was made. A value.
struct AchievedRun {
  std::string plan;  // its file
  std::vector<double> epochs_s;
  double predicted_epoch_s = 0;
  double predicted_low_s = 0;
  double predicted_high_s = 0;
  double unstaged_epoch_s = 0;  // likewise predicted

  // The mean of the epochs after the first, if there are any, because the first may have staged.
  double settled_s() const;
  // settled / predicted - 1.
  double error() const;
};
// Error(ExitCode::data) if the plan's file has no prediction, or if no epoch has ended.
AchievedRun achieved_run(const std::string& plan, const RunFiles& run, int64_t steps_per_epoch);
std::string achieved_text(const AchievedRun& run);
nlohmann::json achieved_json(const AchievedRun& run);

}  // namespace stoker
