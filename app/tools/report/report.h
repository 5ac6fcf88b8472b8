#pragma once

#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// What `stoker report` is asked for. A value; directories is not empty.
struct ReportArguments {
  std::vector<std::string> directories;  // runs, or sweeps, or Darshan logs
  std::string output;                    // empty: report.html in the first, or beside the log
  bool json = false;
};

// `stoker report`: writes one HTML page of runs side by side, of sweeps, or of Darshan logs, and
// prints its path. Errors: ExitCode::config where these are mixed, ExitCode::environment where a
// directory is neither or lacks a file.
ExitCode write_report(const ReportArguments& arguments);

}  // namespace stoker
