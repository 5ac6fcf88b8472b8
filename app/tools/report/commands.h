#pragma once

#include <cstdint>
#include <optional>
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

// `stoker trace`: prints the figures that a run's trace.json gives beside those of its
// summary.json. run: its directory. They are compared only where the trace says that it is whole.
// Error(ExitCode::environment) if there is no trace, or if this program did not write it.
ExitCode compare_with_trace(const std::string& run, bool json);

// What `stoker timelogger` is asked for. A value.
struct TimeLoggerArguments {
  std::vector<std::string> paths;      // runs, folders of records, or files of records
  std::vector<std::string> timelines;  // Chrome traces of the same time
  std::optional<int64_t> nodes;        // to divide sums by; absent: the ranks
  double max_bad = 0.01;               // share of lines that may be no records
  bool json = false;
};

// `stoker timelogger`: prints the figures of TimeLogger records by both published methods.
// Error as read_time_logs(). Where all paths are runs, their bytes read give a bandwidth, too.
ExitCode report_time_logs(const TimeLoggerArguments& arguments);

}  // namespace stoker
