#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench decode` is asked for. A value.
struct DecodeBenchArguments : ConfigArguments {
  // Other decoders, types that take the options of the experiment's own.
  std::vector<std::string> versus;
  // So many, evenly through the training samples; 0: all. They are held in memory.
  int64_t samples = 0;
  // That count, after one that does not.
  int64_t rounds = 5;
};

// `stoker bench decode`: time per image of the experiment's decoder, and of others beside it, on
// one thread. The same training samples for all, read into memory beforehand; rounds interleaved.
// Prints the result. Error(ExitCode::config) for a type that does not take these options; BadSample
// for a file that cannot be decoded.
ExitCode bench_decode(const DecodeBenchArguments& arguments);

// What `stoker bench lmdb` is asked for. A value.
struct LmdbBenchArguments : ConfigArguments {
  std::vector<int64_t> ranks{1, 2, 4, 8};
  std::string readers = "lmdb,lmm,lmm_dm,lmm_dio,prov,coal,stag,indexed";
  int64_t rounds = 3;
  int64_t steps = 0;                // of each run; 0: one epoch
  std::string page_cache = "cold";  // or "as_is"
  bool drop_caches = false;         // run.drop_caches
};

// `stoker bench lmdb`: the training of an experiment whose loader is `lmdbio`, by each of its
// readers on each number of ranks, in turn, round after round; beside it a sequential read of the
// same file through the same tier. Evaluation, checkpoints and digests are left out. Each run is
// processes of its own (`stoker launch`), whose run directory is removed. Prints what LMDBIO's
// papers plot: run time, bandwidth, speed-up of each reader over the one before with the published
// ratios beside, counts of the kernel, pages, and the stacked break-down of a rank's time. One
// thread. Error(ExitCode::config) for another loader, an unknown reader, and more steps than an
// epoch where the cache is to be cold; the run's own code where one fails.
ExitCode bench_lmdb(const LmdbBenchArguments& arguments);

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
