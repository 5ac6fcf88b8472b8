#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/view/profile_json.h"

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

// The logs of the profiler's sessions (io_profile*.darshan) that a run left in its directory, and
// those of its other ranks in theirs, in the order of their steps. Empty if there are no logs, or
// no such directory. Any thread.
std::vector<std::string> profile_logs(const std::string& directory);

// For the report's page: a log's "file", as it is called there, and its "profile" (profile_json).
// Throws the errors of read_darshan_log().
nlohmann::json profile_log_data(const std::string& path, const std::string& called);
// The same for all logs of a run, in an array, named by their paths in its directory. A log that
// cannot be read has an "error" instead of its "profile". Sessions after the first forty have only
// their sums.
nlohmann::json profile_page_data(const std::string& directory);

// The views of a log for a terminal: all that profile_json() has, except the course over time. Any
// thread.
std::string darshan_text(const DarshanLog& log, const ProfileViewLimits& limits);

}  // namespace stoker
