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

// Of a batch, the part of one rank. A value.
struct BatchPart {
  // Where it begins in EpochOrder::samples.
  int64_t begin = 0;
  int64_t size = 0;
  // Samples of all ranks.
  int64_t whole = 0;
  // Batch::filler.
  bool filler = false;
};

// Which samples make up which batch: a pure function of (seed, epoch), the same for every loader
// and any number of workers. Immutable; any thread.
//
// A batch is the same samples in the same order whatever the number of ranks, each of which takes
// an equal part of it, one behind the other (parts differ by one sample where it cannot be
// divided). Training: batch_size samples each of a permutation of all (Fisher-Yates); what is left
// at the end is dropped, or without drop_last a smaller batch. Evaluation: the order of the data
// set.
class Sampler {
 public:
  // `samples`: of the split. Error(ExitCode::config) where training has not one batch, or a batch
  // not one sample for each rank.
  Sampler(const LoaderOptions& options, Shard shard, int64_t samples, Split split, uint64_t seed);

  // Of every epoch; the same for all ranks.
  int64_t batches() const { return batches_; }
  // The part of this rank.
  BatchPart part(int64_t batch) const;
  // Computes the order of an epoch: proportional to all samples, so the caller keeps it.
  EpochOrder order(int64_t epoch) const;

 private:
  LoaderOptions options_;
  Shard shard_;
  int64_t samples_;
  bool train_;
  uint64_t seed_;
  int64_t batches_ = 0;
};

}  // namespace stoker
