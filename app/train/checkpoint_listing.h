#pragma once

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// config: an experiment, a directory with step-... in it, or one of these.
struct CheckpointArguments : ConfigArguments {
  bool all = false;  // verify all sets, not the newest ones alone
};

// `stoker checkpoint list`: prints the sets on every tier. Reads only.
ExitCode list_checkpoints(const CheckpointArguments& arguments);
// `stoker checkpoint verify`: reads every byte of the sets. ExitCode::storage where one is damaged.
// Error(ExitCode::environment) where there is none.
ExitCode verify_checkpoints(const CheckpointArguments& arguments);

}  // namespace stoker
