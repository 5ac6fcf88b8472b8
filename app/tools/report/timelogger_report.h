#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

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
