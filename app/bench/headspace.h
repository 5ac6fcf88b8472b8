#pragma once

#include <cstdint>
#include <vector>

#include "app/bench/headspace_verdict.h"
#include "io/core/notify.h"

namespace stoker {

struct ExperimentOptions;

struct HeadspaceOptions {
  int64_t epochs = 3;  // measured, of each level
  int64_t steps = 20;  // of the device, as often
};

// From the device alone down to the cold tier; each with the configured loader, but the first. A
// level that cannot be measured here says why. `notify`: what is being measured now, and what the
// components remark. Throws Error for what is wrong with the experiment itself.
std::vector<HeadspaceLevel> measure_headspace(const ExperimentOptions& experiment,
                                    const HeadspaceOptions& options, const Notify& notify);

}  // namespace stoker
