#include "io/decoder/jpeg/progressive/coefficients.h"

#if defined(__x86_64__)

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "io/decoder/jpeg/reduced_dct.h"

namespace stoker {
namespace {

constexpr size_t kCoefficientBytes = 64 * sizeof(int16_t);
constexpr size_t kBlockAlignment = 64;

// Of a first coefficient, dequantised: samples of 8 bits are far away from it, and 16 bits still
// compute with it exactly.
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

bool Coefficients::row_to_samples(const int16_t* values, const uint64_t* nonzero, size_t blocks,
                                  const int16_t* quantisation, uint8_t* out, size_t stride) const {
  for (size_t x = 0; x < blocks; ++x, values += 64, out += 8) {
    const int dc = values[0] * quantisation[0];
    if (std::abs(dc) >= kImplausibleDc) return false;
    if (nonzero[x] == 0) {
      inverse_dcts_.dc_only(dc, out, stride);
    } else {
      // Positions below 10 are those with row + column < 4.
      const bool few = std::countr_zero(nonzero[x]) > 63 - 10;
      (few ? inverse_dcts_.top_left_4x4 : inverse_dcts_.full)(values, quantisation, out, stride);
    }
  }
  return true;
}

bool Coefficients::to_samples(const JpegFrame& frame, const McuRect& needed,
                              const JpegPlanes& planes, const std::array<size_t, 3>& sides) const {
  for (size_t c = 0; c < frame.components; ++c) {
    const McuSize mcu = c == 0 ? mcu_size(frame.sampling) : McuSize{};
    const CoefficientPlane& plane = planes_[c];
    const JpegPlane& samples = planes.planes[c];
    const size_t side = sides[c];
    const int16_t* quantisation = frame.quantisation[frame.component[c].quantisation].data();
    const size_t left = needed.left * mcu.width / 8;
    const size_t right = std::min(needed.right * mcu.width / 8, plane.columns);
    const size_t bottom = std::min(needed.bottom * mcu.height / 8, plane.rows);
    for (size_t y = needed.top * mcu.height / 8; y < bottom; ++y) {
      const size_t at = y * plane.stride + left;
      const int16_t* values = plane.values + at * 64;
      uint8_t* out = samples.data + y * side * samples.stride + left * side;
      if (side == 8) {
        if (!row_to_samples(values, plane.nonzero + at, right - left, quantisation, out,
                            samples.stride)) {
          return false;
        }
        continue;
      }
      for (size_t x = left; x < right; ++x, values += 64, out += side) {
        if (!reduced_inverse_dct(values, quantisation, side, out, samples.stride)) return false;
      }
    }
  }
  return true;
}

}  // namespace stoker

#endif
