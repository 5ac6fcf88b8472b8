#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tools/report/run_files.h"
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

// The report's page without its data: a whole HTML document in UTF-8 that loads nothing and carries
// its content security policy. Lives as long as the program. Any thread.
std::string_view report_page();

// The page with `data` in it: {kind: run|runs|sweep|sweeps|profiles, ...} as
// run_page_data(), sweep_page() and profile_page() make it. Whatever the texts in it are, they end
// no element; bytes that are no UTF-8 are replaced.
std::string report_html(nlohmann::json data);

// The page of a sweep's results.json, or of several ones below each other: findings beside what was
// published, plots, all cells. Error(ExitCode::environment) where one is of another schema_version.
std::string sweep_page(const std::vector<nlohmann::json>& results);

// The page of runs side by side, of sweeps below each other, or of Darshan logs. What was read is
// named by the Error: ExitCode::config where these are mixed, ExitCode::environment where a
// directory is neither or lacks a file.
std::string page_of(const std::vector<std::string>& directories);

// The page of Darshan logs. Error as read_darshan_log() has them.
std::string profile_page(const std::vector<std::string>& logs);

// A table as {column: [values]}, null where nothing was measured. Neighbouring rows are merged
// where there are more than `most`: the mean of quotients (rates and shares), the last of all
// others.
nlohmann::json thinned(const Table& table, size_t most);

// What the report shows of one run, or of several side by side: what their directories hold, and
// what differs between them. `runs` is not empty. For report_html().
nlohmann::json run_page_data(const std::vector<RunFiles>& runs);

}  // namespace stoker
