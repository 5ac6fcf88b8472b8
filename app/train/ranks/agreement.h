#pragma once

#include "app/experiment/experiment.h"
#include "io/core/ranks/rank_group.h"

// What all ranks of a training have to have in common, for none of them sees the others' files and
// command lines. With one rank, nothing happens. All ranks call the same function; what differs is
// the same Error on every one of them, which names it, each value, and who has it. The trainer's
// thread; errors also as RankGroup::meet.

namespace stoker {

// The configuration and the program. What a machine has for itself may differ: tiers, directories,
// workers, threads, sinks, the options of the device. Error(ExitCode::config).
void require_same_configuration(RankGroup& group, const ExperimentOptions& options);

// The data set as each rank found it, and the kind of device. Error(ExitCode::environment).
void require_same_data(RankGroup& group, Experiment& experiment);

}  // namespace stoker
