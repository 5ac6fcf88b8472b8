#include "io/decoder/jpeg/progressive/refinement.h"

#if defined(__x86_64__)

namespace stoker {
namespace {

constexpr MaskLanes mask_lanes(const std::array<uint8_t, 64>& natural_order) {
  MaskLanes lanes{};
  for (size_t k = 0; k < 64; ++k) {
    const size_t value = natural_order[k], bit = 63 - k;
    lanes.byte[2 * value] = static_cast<uint8_t>(bit / 8);
    lanes.byte[2 * value + 1] = 0x80;  // makes 0
    lanes.bit[value] = static_cast<uint16_t>(1u << bit % 8);
  }
  return lanes;
}

}  // namespace

const MaskLanes kMaskLanes = mask_lanes(kScanOrder);

}  // namespace stoker

#endif
