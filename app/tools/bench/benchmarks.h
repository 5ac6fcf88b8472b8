#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench decode` is asked for. A value.
struct DecodeBenchArguments : ConfigArguments {
  // Types of other decoders, which take the options of the experiment's own.
  std::vector<std::string> versus;
  // Number of samples, taken evenly from the training samples; 0: all. They are held in memory.
  int64_t samples = 0;
  // Rounds that count; they follow one that does not.
  int64_t rounds = 5;
};

// `stoker bench decode`: measures the time that the experiment's decoder takes for an image, and
// others beside it, on one thread. All decode the same training samples, which are read into memory
// beforehand, and each has its turn in every round. Prints the result. Error(ExitCode::config) for
// a type that does not take these options; BadSample for a file that cannot be decoded.
ExitCode bench_decode(const DecodeBenchArguments& arguments);

// What `stoker bench lmdb` is asked for. A value.
struct LmdbBenchArguments : ConfigArguments {
  std::vector<int64_t> ranks{1, 2, 4, 8};
  std::string readers = "lmdb,lmm,lmm_dm,lmm_dio,prov,coal,stag,indexed";
  int64_t rounds = 3;
  int64_t steps = 0;                // steps of each run; 0: one epoch
  std::string page_cache = "cold";  // or "as_is"
  bool drop_caches = false;         // run.drop_caches
};

// `stoker bench lmdb`: runs the training of an experiment whose loader is `lmdbio`, with each of
// its readers on each number of ranks, in turn, round after round. Beside it the same file is read
// sequentially through the same tier. Evaluation, checkpoints and digests are left out. Each run
// has processes of its own (`stoker launch`), and its run directory is removed. Prints what
// LMDBIO's papers plot: run time, bandwidth, the speed-up of each reader over the one before with
// the published ratios beside it, the kernel's counts, pages, and the stacked break-down of a
// rank's time. One thread. Error(ExitCode::config) for another loader, an unknown reader, and more
// steps than an epoch where the cache is to be cold; the run's own code where one fails.
ExitCode bench_lmdb(const LmdbBenchArguments& arguments);

}  // namespace stoker
