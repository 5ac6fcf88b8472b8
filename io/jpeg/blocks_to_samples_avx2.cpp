#include "io/jpeg/inverse_dct.h"

#if defined(__x86_64__)

#include <algorithm>

#include "io/decoder/avx512.h"
#include "io/jpeg/blocks_by_kind.h"

namespace stoker {

std::vector<InverseDcts> usable_inverse_dcts() {
  std::vector<InverseDcts> usable{avx2_inverse_dcts()};
  if (has_avx512()) usable.push_back(avx512_inverse_dcts());
  return usable;
}

InverseDcts best_inverse_dcts() { return usable_inverse_dcts().back(); }

STOKER_AVX2 bool to_samples(const InverseDcts& transforms, std::span<const DctBlock> blocks) {
  while (!blocks.empty()) {
    const size_t now = std::min(blocks.size(), BlocksByKind::kMost);
    BlocksByKind sorted;
    for (const DctBlock& block : blocks.first(now)) {
      if (!sorted.add(block)) return false;
    }
    sorted.to_samples(transforms);
    blocks = blocks.subspan(now);
  }
  return true;
}

}  // namespace stoker

#endif
