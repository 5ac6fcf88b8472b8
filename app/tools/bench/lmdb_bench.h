#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace stoker {

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

}  // namespace stoker
