#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "app/tools/report/run_files.h"

namespace stoker {

// A table as {column: [values]}, null where nothing was measured. Neighbouring rows are merged
// where there are more than `most`: the mean of quotients (rates and shares), the last of all
// others.
nlohmann::json thinned(const Table& table, size_t most);

// What the report shows of one run, or of several side by side: what their directories hold, and
// what differs between them. `runs` is not empty. For report_html().
nlohmann::json run_page_data(const std::vector<RunFiles>& runs);

}  // namespace stoker
