#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/analysis/run_files.h"

namespace stoker {

// What the report shows of one run, or of several side by side: what their directories hold, and
// what differs between them. `runs` is not empty.
nlohmann::json run_page_data(const std::vector<RunFiles>& runs);

// A self-contained HTML document of it.
std::string run_page(const std::vector<RunFiles>& runs);

}  // namespace stoker
