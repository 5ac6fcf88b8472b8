#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/analysis/table.h"

namespace stoker {

// A table as {column: [values]}, null where nothing was measured. Neighbouring rows are merged
// where there are more than `most`: of running numbers (steps, times since the begin, counts) and
// last values (the loss) the last, of durations the sum, of rates and shares the mean.
nlohmann::json thinned(const Table& table, size_t most);

}  // namespace stoker
