#pragma once

#include <vector>

#include "app/bench/headspace_verdict.h"
#include "app/experiment/options.h"
#include "io/core/notify.h"

namespace stoker {

struct HeadspaceOptions {
  int64_t epochs = 3;  // measured, of each rung
  int64_t steps = 20;  // of the device, as often
};

// From the device alone down to the cold tier; each with the configured loader, but the first. A
// rung that cannot be measured here says why. `notify`: what is being measured now, and what the
// components remark. Throws Error for what is wrong with the experiment itself.
std::vector<Rung> measure_headspace(const ExperimentOptions& experiment,
                                    const HeadspaceOptions& options, const Notify& notify);

}  // namespace stoker
