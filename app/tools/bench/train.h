#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench train` is asked for. A value.
struct TrainBenchArguments : ConfigArguments {
  int64_t steps = 10;             // measured, of each round
  int64_t warm_up = 3;            // before them
  int64_t rounds = 3;             // every variant has its turn in each
  std::vector<int64_t> threads;   // empty: powers of two up to the cores there are, and these
  std::vector<int64_t> workers;   // likewise
  bool bare = false;              // the trainer's overhead instead
  std::optional<double> at_most;  // percent of overhead
};

// `stoker bench train`: some steps of the training that a configuration describes, by the trainer
// itself (ledger, metrics, sinks, in a run directory that is removed afterwards). Evaluation,
// checkpoints and digests are left out. Either for every division of the cores between LibTorch's
// kernels (threads) and the loader (workers), or, with `bare`, beside the same steps without the
// trainer, on one batch that lies on the device. Prints the result; without `json` also what runs
// now. One thread. Error(ExitCode::config) on an emulated device, which computes nothing;
// Error(ExitCode::threshold) where the overhead is above at_most.
ExitCode bench_train(TrainBenchArguments arguments);

}  // namespace stoker
