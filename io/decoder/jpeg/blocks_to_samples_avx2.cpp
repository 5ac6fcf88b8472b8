#include "io/decoder/jpeg/inverse_dct.h"

#if defined(__x86_64__)

#include <algorithm>
#include <array>

#include "io/decoder/avx512.h"
#include "io/decoder/jpeg/block_order_avx2.h"

namespace stoker {
namespace {

constexpr size_t kMost = 32;  // of one kind, before they are transformed

}  // namespace

std::vector<InverseDcts> usable_inverse_dcts() {
  std::vector<InverseDcts> usable{avx2_inverse_dcts()};
  if (has_avx512_vbmi()) usable.push_back(avx512_inverse_dcts());
  return usable;
}

InverseDcts best_inverse_dcts() { return usable_inverse_dcts().back(); }

// Blocks are sorted by kind first. A jump to the transform of each would be mispredicted often, and
// so would one that sorts.
STOKER_AVX2 bool to_samples(const InverseDcts& transforms, std::span<const DctBlock> blocks) {
  while (!blocks.empty()) {
    const size_t now = std::min(blocks.size(), kMost);
    std::array<std::array<const DctBlock*, kMost>, 3> sorted;
    std::array<size_t, 3> count{};
    for (const DctBlock& block : blocks.first(now)) {
      if (block.side != 8) {
        if (!reduced_inverse_dct(block)) return false;
        continue;
      }
      const auto extent = static_cast<size_t>(block_extent(block.values));
      sorted[extent][count[extent]++] = &block;
    }
    transforms.first(sorted[0].data(), count[0]);
    transforms.first_ten(sorted[1].data(), count[1]);
    transforms.all(sorted[2].data(), count[2]);
    blocks = blocks.subspan(now);
  }
  return true;
}

}  // namespace stoker

#endif
