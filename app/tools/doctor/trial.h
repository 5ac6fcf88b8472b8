#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/report/bootstrap.h"
#include "app/tools/report/run_files.h"

namespace stoker {

// How much is tried. A value.
struct TrialOptions {
  // Runs of each side, in turns; at least 1.
  int64_t rounds = 3;
  std::optional<int64_t> steps;  // length of each run; absent: it takes about `seconds`
  // Approximate length of each run, judged by the rate of the one that was examined. It is never
  // longer than that one.
  double seconds = 10;
  std::string directory;  // for the runs that are made; empty: `verify` below the run's directory
};

// The same configuration as it was (A) and with the overrides (B), A B A B ..., so that a machine
// that becomes slower meets both.
struct Trial {
  // Figures of each run.
  int64_t steps = 0;
  std::vector<double> as_it_was;  // images/s, until the last set is where it belongs
  std::vector<double> changed;
  Interval difference;  // difference of the medians, with its bootstrap interval
  // Where the runs and the log of their output are.
  std::string directory;

  // The interval does not contain zero. If neither is true, the result is open.
  bool helped() const { return difference.low > 0; }
  bool hurt() const { return difference.high < 0; }
};

// Each run is a child process; `progress` hears of each. Each run's checkpoints go to a folder of
// its own on every tier, which is removed after the run. Error where one fails: it names the log.
Trial try_overrides(const RunFiles& run, const std::vector<std::string>& overrides,
                    const TrialOptions& options,
                    const std::function<void(const std::string&)>& progress);

// As `stoker doctor --verify --json` prints it.
void to_json(nlohmann::json& json, const Trial& trial);

}  // namespace stoker
