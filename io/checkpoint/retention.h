#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "io/checkpoint/options.h"

namespace stoker {

// Which sets of a tier may go, ascending. A pure function. `sets` are the steps on the tier with
// the scores of those that were evaluated. A set goes only where one newer than it is on the last
// tier: `safe_step` is the newest there.
std::vector<int64_t> sets_to_remove(const std::map<int64_t, std::optional<double>>& sets,
                                    std::optional<int64_t> safe_step,
                                    const CheckpointOptions& options);

}  // namespace stoker
