#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench train` is asked for. A value.
struct TrainBenchArguments : ConfigArguments {
  int64_t steps = 10;   // measured steps of each round
  int64_t warm_up = 3;  // steps before them
  int64_t rounds = 3;   // every variant has its turn in each
  // Empty: the powers of two up to the number of cores, and that number.
  std::vector<int64_t> threads;
  std::vector<int64_t> workers;
  bool bare = false;              // measure the trainer's overhead instead
  std::optional<double> at_most;  // percent of overhead that is allowed
};

// `stoker bench train`: lets the trainer itself do some steps of the configured training (with
// ledger, metrics and sinks, in a run directory that is removed afterwards). Evaluation,
// checkpoints and digests are left out. It measures every division of the cores between LibTorch's
// kernels (threads) and the loader (workers). With `bare` it measures the same steps with and
// without the trainer, on one batch that lies on the device. Prints the result; without `json` it
// also prints what runs now. One thread. Error(ExitCode::config) on an emulated device, which
// computes nothing; Error(ExitCode::threshold) where the overhead is above at_most.
ExitCode bench_train(TrainBenchArguments arguments);

}  // namespace stoker
