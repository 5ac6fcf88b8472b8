#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// What `stoker darshan` is asked for. A value; sources is not empty.
struct DarshanArguments {
  std::vector<std::string> sources;  // directories of runs, or logs
  int64_t files = 20;                // rows of the table of files
  bool records = false;              // in JSON: every counter and segment of every file
  std::string output;                // a copy in our format; empty: none
  std::string trace;                 // where trace.json goes; empty: nowhere
  bool json = false;
};

// `stoker darshan`: prints what I/O a run's sessions of the profiler saw, or any of Darshan's logs.
// Error(ExitCode::config) where `output` is for several logs;
// Error(ExitCode::environment) where a directory has no log, or there is no such file;
// Error(ExitCode::data) where a log cannot be read.
ExitCode show_darshan(const DarshanArguments& arguments);

}  // namespace stoker
