#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace stoker {

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

}  // namespace stoker
