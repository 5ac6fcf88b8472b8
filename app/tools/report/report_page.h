#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

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

}  // namespace stoker
