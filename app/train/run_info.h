#pragma once

#include "app/experiment/experiment.h"
#include "app/run/directory.h"
#include "io/metrics/run_meter.h"

namespace stoker {

// What the run is, from its configuration and its opened pieces; steps are added once they are
// known.
RunInfo run_info(Experiment& experiment, const RunDirectory& directory);

}  // namespace stoker
