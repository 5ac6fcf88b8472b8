#pragma once

#include <cstdint>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench checkpoint` is asked for. A value.
struct CheckpointBenchArguments : ConfigArguments {
  int64_t rounds = 5;  // saves and loads
};

// `stoker bench checkpoint`: saves and loads the state of the experiment's model and optimizer, in
// a directory of its own on each of its tiers, which is removed; beside them a plain copy of as
// many bytes in memory, and the tiers by themselves. Prints the times. One thread. Throws Error,
// with ExitCode::config for checkpoint.type none and ExitCode::storage where a save fails; IoError.
ExitCode bench_checkpoint(const CheckpointBenchArguments& arguments);

}  // namespace stoker
