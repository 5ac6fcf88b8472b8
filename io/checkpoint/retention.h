#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "io/checkpoint/options.h"

namespace stoker {

// Which sets of a tier may go, ascending. A pure function. `sets` are the steps on the tier, with
// the scores of those that were evaluated. `safe_step` is the newest step on the last tier: only
// older sets may go, so that there is always a newer one there.
std::vector<int64_t> sets_to_remove(const std::map<int64_t, std::optional<double>>& sets,
                                    std::optional<int64_t> safe_step,
                                    const CheckpointOptions& options);

}  // namespace stoker
