#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/tools/doctor/finding.h"
#include "app/tools/doctor/trial.h"
#include "app/tools/report/run_files.h"
#include "io/core/error.h"

namespace stoker {

// What holds a run up. A value.
//
// Costs are shares of the device's time where a device was observed, else of the trainer's: a wait
// that is hidden behind queued work costs nothing.
struct Diagnosis {
  // bound: findings.front() holds the run up. fine: the device always has work. unknown: `text`
  // says why. Costs below five per cent of the time decide nothing (kModerateShare of
  // io/metrics/idle.h).
  enum class Outcome { bound, fine, unknown };
  Outcome outcome = Outcome::unknown;
  std::string resource;  // that of the first finding, "compute", or "unknown"
  std::string text;
  std::vector<std::string> evidence;  // for the outcome as a whole
  Findings findings;                  // the largest cost first
};

// From the run's files alone, without a look at the machine. A pure function; any thread. A run
// that failed or is too short has the outcome `unknown`.
Diagnosis diagnose(const RunFiles& run);

// As `stoker doctor --json` prints it.
void to_json(nlohmann::json& json, const Diagnosis& diagnosis);

// What `stoker doctor` is asked for. A value.
struct DoctorArguments : TrialOptions {
  std::string run;  // directory
  // Try the first proposal: takes minutes, uses the machine and reads the data again.
  bool verify = false;
  bool json = false;
};

// `stoker doctor`: prints what holds a run up and, with verify, what the first proposal brings.
ExitCode examine_run(const DoctorArguments& arguments);

}  // namespace stoker
