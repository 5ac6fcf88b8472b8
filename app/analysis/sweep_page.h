#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace stoker {

// A self-contained HTML document of a sweep's results.json: findings beside what was published,
// plots, all cells. Error(ExitCode::environment) where it is of another schema_version.
std::string sweep_page(const nlohmann::json& results);

// Several of them on one page, one below the other.
std::string sweeps_page(const std::vector<nlohmann::json>& results);

}  // namespace stoker
