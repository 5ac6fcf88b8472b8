#pragma once

#include <string>

#include "app/analysis/doctor/trial.h"
#include "io/core/error.h"

namespace stoker {

struct DoctorArguments : TrialOptions {
  std::string run;  // directory
  bool verify = false;
  bool json = false;
};

// `stoker doctor`: prints what holds a run up and, with verify, what the first proposal brings.
ExitCode examine_run(const DoctorArguments& arguments);

}  // namespace stoker
