#include "io/jpeg/progressive/coefficients.h"

#if defined(__x86_64__)

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace stoker {
namespace {

constexpr size_t kCoefficientBytes = 64 * sizeof(int16_t);
constexpr size_t kBlockAlignment = 64;

// The most that a dequantised first coefficient may be. Samples of 8 bits stay far below it, and
// arithmetic in 16 bits is still exact.
constexpr int kImplausibleDc = 8192;

size_t blocks_of(int64_t size, size_t part, size_t mcu) {
  const size_t samples = (static_cast<size_t>(size) * part + mcu - 1) / mcu;
  return (samples + 7) / 8;
}

template <class T>
T* aligned_to_block(uint8_t* at) {
  const size_t over = reinterpret_cast<uintptr_t>(at) % kBlockAlignment;
  return reinterpret_cast<T*>(at + (over == 0 ? 0 : kBlockAlignment - over));
}

}  // namespace

void Coefficients::assign(const JpegFrame& frame) {
  const McuGrid grid = mcu_grid(frame);
  const McuSize largest = mcu_size(frame.sampling);
  size_t blocks = 0;
  std::array<size_t, 3> first{};
  for (size_t c = 0; c < frame.components; ++c) {
    const McuSize mcu = c == 0 ? largest : McuSize{};
    CoefficientPlane& plane = planes_[c];
    plane.columns = blocks_of(frame.width, mcu.width, largest.width);
    plane.rows = blocks_of(frame.height, mcu.height, largest.height);
    plane.stride = grid.columns * mcu.width / 8;
    first[c] = blocks;
    blocks += plane.stride * grid.rows * mcu.height / 8;
  }
  auto* values =
      aligned_to_block<int16_t>(values_.resize(blocks * kCoefficientBytes + kBlockAlignment));
  auto* nonzero =
      aligned_to_block<uint64_t>(nonzero_.resize(blocks * sizeof(uint64_t) + kBlockAlignment));
  std::memset(values, 0, blocks * kCoefficientBytes);
  std::memset(nonzero, 0, blocks * sizeof(uint64_t));
  for (size_t c = 0; c < frame.components; ++c) {
    planes_[c].values = values + first[c] * 64;
    planes_[c].nonzero = nonzero + first[c];
  }
}

bool Coefficients::to_samples(const JpegFrame& frame, const McuRect& needed,
                              const JpegPlanes& planes) const {
  std::array<DctBlock, 32> blocks;
  for (size_t c = 0; c < frame.components; ++c) {
    const McuSize mcu = c == 0 ? mcu_size(frame.sampling) : McuSize{};
    const CoefficientPlane& plane = planes_[c];
    const JpegPlane& samples = planes.planes[c];
    const int16_t* quantisation = frame.quantisation[frame.component[c].quantisation].data();
    const size_t right = std::min(needed.right * mcu.width / 8, plane.columns);
    const size_t bottom = std::min(needed.bottom * mcu.height / 8, plane.rows);
    for (size_t y = needed.top * mcu.height / 8; y < bottom; ++y) {
      for (size_t x = needed.left * mcu.width / 8, count; x < right; x += count) {
        count = std::min(right - x, blocks.size());
        for (size_t i = 0; i < count; ++i) {
          const int16_t* values = plane.values + (y * plane.stride + x + i) * 64;
          if (std::abs(values[0] * quantisation[0]) >= kImplausibleDc) return false;
          uint8_t* out = samples.data + (y * samples.stride + x + i) * samples.side;
          blocks[i] = {values, quantisation, out, samples.stride, samples.side};
        }
        if (!stoker::to_samples(inverse_dcts_, std::span(blocks).first(count))) return false;
      }
    }
  }
  return true;
}

}  // namespace stoker

#endif
