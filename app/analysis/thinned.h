#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/analysis/table.h"

namespace stoker {

// A table as {column: [values]}, null where nothing was measured. Neighbouring rows are merged
// where there are more than `most`: the mean of quotients (rates and shares), the last of all
// others.
nlohmann::json thinned(const Table& table, size_t most);

}  // namespace stoker
