#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace stoker {

// The logs of the profiler's sessions that a run left in its directory, and its other ranks' in
// theirs: io_profile*.darshan, in the order of their names. None, where it has none or is no
// directory. Any thread.
std::vector<std::string> profile_logs(const std::string& directory);

// For the report's page: a log's "file", as it is called there, and its "profile" (profile_json).
// Errors are those of read_darshan_log().
nlohmann::json profile_log_data(const std::string& path, const std::string& called);
// The same of all logs of a run, in an array, called by their paths in its directory. One that
// cannot be read has an "error" in place of its "profile"; of the sessions beyond the first forty
// there are only the sums.
nlohmann::json profile_page_data(const std::string& directory);

}  // namespace stoker
