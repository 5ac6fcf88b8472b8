#pragma once

#include <string>
#include <vector>

#include "app/tools/bench/storage/storage.h"
#include "io/storage/emulated/tier_fit.h"

namespace stoker {

// What `stoker bench storage --fit` found. A value.
struct StorageFit {
  TierFit fit;
  // The points that it was fitted to: medians of the rounds, in the order in which they were
  // measured.
  std::vector<TierPoint> points;
  // How |predicted / measured - 1| is distributed over the points.
  double worst = 0;
  double mean = 0;
  // The worst is so small that the model stands for the tier: at most kFits.
  bool fits() const { return worst <= kFits; }
  static constexpr double kFits = 0.25;
  // Why it is not, in words that begin with the point that is farthest off. Empty: it fits.
  std::string why;
  // Rounds that had to be cold and were not.
  int64_t left_out = 0;
};

// Measures `rounds` interleaved rounds of reads and writes at each number of threads, and fits the
// model of an emulated tier to them. It takes from `like` the sizes (transfer_bytes is the large
// one, 4 KiB the small one), shared, objects, cold and limit_s. Error(ExitCode::environment) where
// no round of some point counts. It returns after a stop as well: the caller asks whether there was
// one.
StorageFit fit_storage(StorageBench& bench, const StorageWorkload& like,
                       const std::vector<int64_t>& threads, int64_t rounds);

}  // namespace stoker
