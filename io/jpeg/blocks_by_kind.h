#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "io/jpeg/block_order_avx2.h"
#include "io/jpeg/inverse_dct.h"

namespace stoker {

// Blocks that are transformed together, each by the quickest transform that will do. They are
// sorted first: a jump to the transform of each would be mispredicted often, and so would one that
// sorts. One thread at a time. Needs AVX2.
class BlocksByKind {
 public:
  static constexpr size_t kMost = 32;

  // No more than kMost. One of fewer than 8 x 8 samples is transformed at once; false: it cannot be
  // (reduced_inverse_dct).
  STOKER_AVX2_INLINE bool add(const DctBlock& block) {
    if (block.side != 8) return reduced_inverse_dct(block);
    const auto extent = static_cast<size_t>(block_extent(block.values));
    DctBlock& kept = blocks_[extent][count_[extent]++];
    kept.values = block.values;
    kept.quantisation = block.quantisation;
    kept.out = block.out;
    kept.stride = block.stride;
    kept.side = 8;
    return true;
  }
  // All that were added.
  void to_samples(const InverseDcts& transforms) const {
    transforms.first(blocks_[0].data(), count_[0]);
    transforms.first_ten(blocks_[1].data(), count_[1]);
    transforms.all(blocks_[2].data(), count_[2]);
  }

 private:
  std::array<std::array<DctBlock, kMost>, 3> blocks_;
  std::array<size_t, 3> count_{};
};

}  // namespace stoker
