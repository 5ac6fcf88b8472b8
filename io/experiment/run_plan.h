#pragma once

#include "io/core/config/node.h"
#include "io/metrics/run_facts.h"

namespace stoker {

// Of a resolved configuration. A section that is missing, or whose type is of a plug-in that is not
// loaded here, leaves the defaults. Opens nothing; any thread.
RunPlan plan_of(const Node& config);

}  // namespace stoker
