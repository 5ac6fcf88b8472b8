#pragma once

#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// Of the command line. A value; directories is not empty.
struct ReportArguments {
  std::vector<std::string> directories;  // runs, or sweeps
  std::string output;                    // empty: report.html in the first
  bool json = false;
};

// `stoker report`: writes one HTML page of runs side by side, or of sweeps, and prints its path.
// Errors: ExitCode::config where runs and sweeps are mixed, ExitCode::environment where a directory
// is neither or lacks a file.
ExitCode write_report(const ReportArguments& arguments);

}  // namespace stoker
