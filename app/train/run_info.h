#pragma once

#include "app/experiment/experiment.h"
#include "app/run/directory.h"
#include "io/metrics/run_meter.h"

namespace stoker {

// What those who watch a run are told that it is. The numbers of steps are not known yet.
RunInfo run_info(Experiment& experiment, const RunDirectory& directory);

}  // namespace stoker
