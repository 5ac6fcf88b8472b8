#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/experiment/options.h"
#include "app/tools/advise/choice.h"
#include "app/tools/report/run_files.h"

// What a run has shown: for a better prediction, and beside the one that its plan was made with.

namespace stoker {

// Seconds of each epoch of which both ends are known, by steps.csv, between the rows of which time
// passes evenly. An evaluation counts to the epoch behind it. resumed: the first step of the table
// is not that of the training. steps_per_epoch: above 0. Pure.
std::vector<double> epoch_seconds(const Table& steps, int64_t steps_per_epoch, bool resumed);

// The pace of so many steps of this configuration. summary: of a run of it, or null: then nothing
// but reading takes time. ranks: that took part in it, each with its own readers. Pure.
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

  // Of the epochs behind the first, where there are any, for that one may have staged.
  double settled_s() const;
  // settled / predicted - 1.
  double error() const;
};
// Error(ExitCode::data) where the plan's file does not hold a prediction, or no epoch has ended.
AchievedRun achieved_run(const std::string& plan, const RunFiles& run, int64_t steps_per_epoch);
std::string achieved_text(const AchievedRun& run);
nlohmann::json achieved_json(const AchievedRun& run);

}  // namespace stoker
