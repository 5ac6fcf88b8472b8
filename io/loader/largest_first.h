#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/dataset/dataset.h"

namespace stoker {

// The order in which workers take the places of a batch: the largest samples first, so that no
// large one is begun when the other workers have nothing left to do. A sample's place, and so the
// batch, is the same in any order. One thread at a time; refers to the data set.
class LargestFirst {
 public:
  // Asks the data set for nothing yet.
  LargestFirst(const Dataset& dataset, Split split);

  // The places of a batch of these samples (indices in the split), those with most encoded bytes
  // first; equal ones in the order of the batch. Empty: all are equally large, take places as they
  // come. Asks for the size of each sample once in the object's life.
  std::vector<int32_t> places(std::span<const int64_t> samples);

 private:
  // Plus one, and at most 2^32 - 1.
  uint32_t bytes_of(int64_t sample);

  const Dataset& dataset_;
  const Split split_;
  // The encoded bytes of each sample, plus one. 0: it was not asked for yet.
  std::vector<uint32_t> bytes_;
};

}  // namespace stoker
