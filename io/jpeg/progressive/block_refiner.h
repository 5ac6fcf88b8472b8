#pragma once

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/jpeg/bit_reader.h"
#include "io/jpeg/progressive/progression.h"

namespace stoker {

// Processors with AVX2 have POPCNT, too.
#define STOKER_REFINE __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define STOKER_REFINE_INLINE __attribute__((target("avx2,bmi,bmi2,popcnt"), always_inline)) inline
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

// Blocks of one row of a component that lie side by side. A value that refers to memory of
// Coefficients.
struct BlockRow {
  int16_t* values = nullptr;
  uint64_t* nonzero = nullptr;
  size_t count = 0;
};

// One scan that refines AC coefficients, some blocks at a time. As each symbol waits for the one
// before, two scans are decoded in one loop in little more than the time of one.
//
// How a refinement is made without a look at each coefficient: the mask of those that are not 0
// says which place a run of zeros leads to (pdep), how many bits of correction come before it
// (popcnt) and whose they are (pdep again). A block's corrections are added at its end, sixteen
// coefficients at a time.
//
// One thread at a time. Throws nothing. Reads beyond the scan's end without noticing, as
// BlockDecoder does.
class BlockRefiner {
 public:
  // The table must outlive the scan.
  void start(const SymbolTable& table, const ProgressiveScan& scan, const BitReader& bits);
  // At least one block. The batch before must be done.
  STOKER_REFINE void begin(const BitReader& bits, const BlockRow& blocks);
  bool done() const { return state_.blocks.count == 0; }
  // There was something that no encoder writes: it is done, and the coefficients are unspecified.
  bool failed() const { return state_.failed; }
  // Runs until it is done.
  STOKER_REFINE void run();
  // Runs both until one of them is done; neither may be done before. They may belong to the same
  // component, if no block is in both batches.
  STOKER_REFINE static void run(BlockRefiner& a, BlockRefiner& b);
  // The bits behind the batch, when it is done.
  const BitReader& bits() const { return state_.bits; }
  // How many of the next blocks have no symbols, because a run covers them.
  uint32_t run_left() const { return state_.run; }

 private:
  // Masks as CoefficientPlane::nonzero.
  struct State {
    BitReader bits;
    // The positions of the block that are left, and those of them that are not 0.
    uint64_t rest = 0;
    uint64_t known = 0;
    // All of its zeros in the band, and how many are left but for one.
    uint64_t zeros = 0;
    int64_t left = 0;
    Refinement refinement;
    BlockRow blocks;
    uint32_t run = 0;
    bool failed = false;
    // The same for all blocks of the scan.
    const SymbolTable* table = nullptr;
    uint64_t band = 0;
    int low = 0;
  };
  STOKER_REFINE_INLINE static void begin_block(State& state);
  STOKER_REFINE_INLINE static void read_symbol(State& state);
  STOKER_REFINE_INLINE static void end_block(State& state);

  State state_;
};

}  // namespace stoker
