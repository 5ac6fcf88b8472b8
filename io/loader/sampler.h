#pragma once

#include <cstdint>
#include <vector>

#include "io/dataset/dataset.h"
#include "io/loader/loader.h"

namespace stoker {

// The indices of one epoch in the order in which this rank trains on them. A value.
struct EpochOrder {
  int64_t epoch = -1;  // -1: none
  // false: as the data set has them.
  bool shuffled = false;
  // This rank's, in the order of its batches.
  std::vector<int64_t> samples;
};

// Which samples make up which batch: a pure function of (seed, epoch), the same for every loader
// and any number of workers. Immutable; any thread.
//
// Training: a permutation of all samples (Fisher-Yates), dealt out to the ranks in turn, so that
// every rank has the same number: with drop_last the surplus is left out, else the first samples of
// the epoch fill the gap. Evaluation: the order of the dataset, every sample exactly once over all
// ranks.
class Sampler {
 public:
  // `samples`: of the split. Throws Error(ExitCode::config) where training has not one batch for a
  // rank.
  Sampler(const LoaderOptions& options, int64_t samples, Split split, uint64_t seed);

  // Of this rank in every epoch.
  int64_t batches() const { return batches_; }
  // Samples of batch `batch`; only the last one may be smaller.
  int64_t batch_size(int64_t batch) const;
  // Computes the order of an epoch: proportional to all samples, so the caller keeps it. Batch b
  // consists of batch_size(b) samples from b * options.batch_size on.
  EpochOrder order(int64_t epoch) const;

 private:
  LoaderOptions options_;
  int64_t samples_;
  bool train_;
  uint64_t seed_;
  int64_t share_ = 0;  // samples of this rank
  int64_t batches_ = 0;
};

}  // namespace stoker
