#pragma once

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker checkpoint list` and `verify` are asked for. config: an experiment, a directory with
// step-... in it, one of these, or the prefix of a checkpoint of TensorFlow's (bundle_listing.h). A
// value.
struct CheckpointArguments : ConfigArguments {
  bool all = false;  // verify all sets, not the newest ones alone
};

// `stoker checkpoint list`: prints the sets on every tier, and what else lies where they are. Reads
// only, so that it may look at the checkpoints of a run that is under way. Error(ExitCode::config)
// where the configuration saves none.
ExitCode list_checkpoints(const CheckpointArguments& arguments);
// `stoker checkpoint verify`: reads every byte of the sets. ExitCode::storage where one is damaged;
// a set that a run removes meanwhile is none.
// Error(ExitCode::environment) if there are no sets.
ExitCode verify_checkpoints(const CheckpointArguments& arguments);

}  // namespace stoker
