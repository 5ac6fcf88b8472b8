#pragma once

#include <string>

#include "app/tools/doctor/trial.h"
#include "io/core/error.h"
#include "io/metrics/verdict/verdict.h"

namespace stoker {

// What `stoker doctor` is asked for. A value.
struct DoctorArguments : TrialOptions {
  std::string run;  // directory
  // Try the first proposal: takes minutes, uses the machine and reads the data again.
  bool verify = false;
  bool json = false;
};

// A verdict as text, some lines.
std::string to_text(const Verdict& verdict);

// `stoker doctor`: prints what holds a run up, as its files alone say it, and with verify what the
// first proposal brings.
ExitCode examine_run(const DoctorArguments& arguments);

}  // namespace stoker
