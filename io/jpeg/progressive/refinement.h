#pragma once

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/jpeg/bit_reader.h"

// Processors with AVX2 have POPCNT, too.
#define STOKER_REFINE __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define STOKER_REFINE_INLINE __attribute__((target("avx2,bmi,bmi2,popcnt"), always_inline)) inline

namespace stoker {

// Per coefficient of a register: where its bit is in a mask whose bit 63 - k stands for position k
// of the scan's order. `byte` shuffles that byte of the mask into the coefficient's lower half,
// `bit` is the bit in there.
struct MaskLanes {
  alignas(32) std::array<uint8_t, 32> byte{};
  alignas(32) std::array<uint16_t, 16> bit{};
};
constexpr MaskLanes mask_lanes(size_t first) {
  MaskLanes lanes;
  for (size_t i = 0; i < 16; ++i) {
    const size_t bit = 63 - first - i;
    lanes.byte[2 * i] = static_cast<uint8_t>(bit / 8);
    lanes.byte[2 * i + 1] = 0x80;  // makes 0
    lanes.bit[i] = static_cast<uint16_t>(1u << bit % 8);
  }
  return lanes;
}
inline constexpr std::array<MaskLanes, 4> kMaskLanes{mask_lanes(0), mask_lanes(16), mask_lanes(32),
                                                     mask_lanes(48)};

// What one refinement does to a block: masks of coefficients as CoefficientPlane::nonzero. A value.
struct Refinement {
  // Those with one more bit that is set, away from 0.
  uint64_t corrected = 0;
  // Those that become the lowest bit of the scan, or its negative.
  uint64_t fresh = 0;
  uint64_t negative = 0;

  bool changes() const { return (corrected | fresh) != 0; }

  // Reads one bit for each of `known`, the highest first. At least 39 bits must be there, or as
  // many as are read; more are refilled.
  STOKER_REFINE_INLINE void correct(BitReader& bits, uint64_t known) {
    auto count = static_cast<int>(_mm_popcnt_u64(known));
    uint64_t high = 0;
    if (count > 39) [[unlikely]] {
      bits.refill();
      high = bits.peek(32);
      bits.skip(32);
      bits.refill();
      count -= 32;
    }
    const uint64_t next = high << count | bits.peek(64) >> 1 >> (63 - count);
    bits.skip(static_cast<uint64_t>(count));
    corrected |= _pdep_u64(next, known);
  }

  STOKER_REFINE_INLINE void apply(int16_t* values, int low) const {
    const __m128i shift = _mm_cvtsi32_si128(low);
    for (size_t i = 0; i < 64; i += 16) {
      auto* const at = reinterpret_cast<__m256i*>(values + i);
      const __m256i old = _mm256_load_si256(at);
      const __m256i added = lanes(fresh, i);
      // 1 or -1: away from 0, and for what was 0 as the file says.
      const __m256i sign =
          _mm256_or_si256(_mm256_or_si256(old, _mm256_srli_epi16(added, 15)), lanes(negative, i));
      const __m256i one = _mm256_srli_epi16(_mm256_or_si256(added, lanes(corrected, i)), 15);
      const __m256i step = _mm256_sll_epi16(_mm256_sign_epi16(one, sign), shift);
      _mm256_store_si256(at, _mm256_add_epi16(old, step));
    }
  }

 private:
  // All ones where the mask has the coefficient.
  STOKER_REFINE_INLINE static __m256i lanes(uint64_t mask, size_t i) {
    const __m256i bytes =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(kMaskLanes[i / 16].byte.data()));
    const __m256i bit =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(kMaskLanes[i / 16].bit.data()));
    const __m256i spread =
        _mm256_shuffle_epi8(_mm256_set1_epi64x(static_cast<int64_t>(mask)), bytes);
    return _mm256_cmpeq_epi16(_mm256_and_si256(spread, bit), bit);
  }
};

}  // namespace stoker
