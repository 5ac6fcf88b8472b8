#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "app/run/stop_signal.h"
#include "io/core/error.h"

// What `stoker bench train` measures: some steps of the training that a configuration describes,
// by the trainer itself (ledger, metrics, sinks, in a run directory that is removed afterwards).
// Evaluation, checkpoints and digests are left out. One thread; Error(ExitCode::config) on an
// emulated device, which computes nothing.

namespace stoker {

struct TrainBench : ConfigArguments {
  int64_t steps = 10;  // measured, of each round
  int64_t warm_up = 3;
  int64_t rounds = 3;  // every variant has its turn in each
  // Says what runs now. May be empty.
  std::function<void(const std::string&)> notify;
};

// Steps from one batch asked for to the next, of all rounds.
struct TrainSteps {
  int64_t batch_size = 0;
  std::string device;
  std::vector<double> step_s;
  double wait_s = 0;              // of these for data
  std::vector<double> rate;       // images/s, a round
  std::vector<double> outside_s;  // a round: the trainer's time for a step outside its `compute`
  double wall_s() const;          // of all steps
};

// How the cores are divided between LibTorch's kernels and the loader's workers.
struct TrainSplit {
  int64_t threads = 0;  // training.threads
  int64_t workers = 0;  // loader.workers
  TrainSteps measured;
  std::string overrides() const;  // that give it
};
// Every combination of the two lists, interleaved.
std::vector<TrainSplit> measure_splits(const TrainBench& bench, const std::vector<int64_t>& threads,
                                       const std::vector<int64_t>& workers, const StopSignal& stop);

// What the trainer adds to its steps, on one batch that lies on the device already.
struct TrainOverhead {
  TrainSteps trainer;
  TrainSteps bare;  // TrainStep::run and nothing else
  // Share by which a step of the trainer is longer: of the medians, and of the shortest ones, which
  // other work on the machine disturbs least.
  double share() const;
  double share_of_shortest() const;
};
TrainOverhead measure_overhead(const TrainBench& bench, const StopSignal& stop);

struct TrainBenchArguments : TrainBench {
  std::vector<int64_t> threads;   // empty: powers of two up to the cores there are, and these
  std::vector<int64_t> workers;   // likewise
  bool bare = false;              // measure_overhead() instead
  std::optional<double> at_most;  // percent of overhead
  bool json = false;
};

// `stoker bench train`: one of the two, and prints the result. Error(ExitCode::threshold) where the
// overhead is above at_most.
ExitCode bench_train(TrainBenchArguments arguments);

}  // namespace stoker
