#pragma once

#include "app/tools/bench_checkpoint/bench_checkpoint.h"
#include "io/core/error.h"

namespace stoker {

// `stoker bench checkpoint` without a shape: saves and loads the state of the experiment's model
// and optimizer, in a directory of its own on each of its tiers, which is removed. Beside them it
// measures a plain copy of as many bytes in memory, and the tiers by themselves. Prints the times.
// One thread. Throws Error, with ExitCode::config for checkpoint.type none and ExitCode::storage
// where a save fails; IoError.
ExitCode bench_model_checkpoint(const CheckpointBenchArguments& arguments);

// `stoker bench checkpoint --loop`: what a save costs a training. Steps of step_ms in which the
// thread sleeps, as one does that waits for an accelerator, each followed by an update of the
// experiment's optimizer; in every other group of `every` steps a save stands before the first
// update. Prints how the times are distributed over all rounds: the stall of a save, a plain copy
// of as many bytes in the same round, updates, and what a group with a save took longer than that
// without in the same round. One thread beside the loader's. Throws as bench_model_checkpoint().
ExitCode bench_checkpoint_loop(const CheckpointBenchArguments& arguments);

}  // namespace stoker
