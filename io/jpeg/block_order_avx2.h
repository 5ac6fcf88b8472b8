#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "io/jpeg/avx2_constants.h"
#include "io/jpeg/inverse_dct.h"
#include "io/jpeg/jpeg_frame.h"

// From the order in which a scan stores the coefficients of a block (zigzag) to the natural one, on
// the way into registers. Pure functions; any thread.
//
// The scan's order is symmetric: what stands at (row, column) comes as long after the block's begin
// as what stands opposite to it comes before its end. So a register holds eight values of the scan
// and those opposite to them, and one shuffle serves a row of the upper half and one of the lower
// half.

namespace stoker {

// Rows of a block: in `of[i]` row 2 * i, and in the upper half row 2 * i + 1.
template <size_t n>
struct RowPairs {
  __m256i of[n];
};

namespace block_order {

struct alignas(32) Shuffle {
  int8_t bytes[32];
};

// Takes to row `row`, in the lower half, and to row 7 - row, in the upper half, what values
// [8 * part, 8 * part + 8) of the scan, and those opposite, hold of them.
constexpr Shuffle shuffle(size_t row, size_t part) {
  Shuffle out{};
  for (size_t column = 0; column < 8; ++column) {
    for (size_t byte = 0; byte < 2; ++byte) out.bytes[2 * column + byte] = -1;
    for (size_t byte = 0; byte < 2; ++byte) out.bytes[30 - 2 * column + byte] = -1;
    for (size_t i = 0; i < 8; ++i) {
      if (kScanOrder[8 * part + i] != 8 * row + column) continue;
      for (size_t byte = 0; byte < 2; ++byte) {
        out.bytes[2 * column + byte] = static_cast<int8_t>(2 * i + byte);
        out.bytes[30 - 2 * column + byte] = static_cast<int8_t>(14 - 2 * i + byte);
      }
    }
  }
  return out;
}

// The lower halves of two.
constexpr Shuffle lower_halves(const Shuffle& low, const Shuffle& high) {
  Shuffle out{};
  for (size_t i = 0; i < 32; ++i) out.bytes[i] = i < 16 ? low.bytes[i] : high.bytes[i - 16];
  return out;
}

struct Shuffles {
  Shuffle row0[3] = {shuffle(0, 0), shuffle(0, 1), shuffle(0, 3)};
  Shuffle row1[5] = {shuffle(1, 0), shuffle(1, 1), shuffle(1, 2), shuffle(1, 3), shuffle(1, 5)};
  Shuffle row2[5] = {shuffle(2, 0), shuffle(2, 1), shuffle(2, 2), shuffle(2, 3), shuffle(2, 5)};
  Shuffle row3[5] = {shuffle(3, 1), shuffle(3, 2), shuffle(3, 3), shuffle(3, 5), shuffle(3, 6)};
  // The same for the first ten values alone.
  Shuffle rows01_part0 = lower_halves(row0[0], row1[0]);
  Shuffle rows23_part0 =
      lower_halves(row2[0], {{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}});
  Shuffle rows23_part1 = lower_halves(row2[1], row3[0]);
  Shuffle mask_first = {{-1, -1}};
  Shuffle mask_first_ten = {{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                             -1, -1, -1, -1, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0}};
};
inline constexpr Shuffles kShuffles;

STOKER_AVX2_INLINE __m256i load(const int16_t* at) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(at));
}
STOKER_AVX2_INLINE __m128i load_half(const int16_t* at) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(at));
}

// Values [8 * part, 8 * part + 8), and those opposite.
STOKER_AVX2_INLINE __m256i opposites(const int16_t* scan, size_t part) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(scan + 8 * part)),
                                 load_half(scan + 8 * (7 - part)), 1);
}
STOKER_AVX2_INLINE __m256i opposites(const int16_t* scan, const int16_t* factors, size_t part) {
  return _mm256_mullo_epi16(opposites(scan, part), opposites(factors, part));
}

STOKER_AVX2_INLINE __m256i take(__m256i values, const Shuffle& order) {
  return _mm256_shuffle_epi8(values, get(order));
}

template <size_t n>
STOKER_AVX2_INLINE __m256i join(const __m256i (&from)[n], const Shuffle (&order)[n]) {
  __m256i joined = take(from[0], order[0]);
  for (size_t i = 1; i < n; ++i) joined = _mm256_or_si256(joined, take(from[i], order[i]));
  return joined;
}

}  // namespace block_order

// All of a block, times the factors; each is 64 values in the scan's order, aligned to 32 bytes.
STOKER_AVX2_INLINE RowPairs<4> natural_rows(const int16_t* scan, const int16_t* factors) {
  using namespace block_order;
  const Shuffles& k = opaque(kShuffles);
  const __m256i part0 = opposites(scan, factors, 0), part1 = opposites(scan, factors, 1);
  const __m256i part2 = opposites(scan, factors, 2), part3 = opposites(scan, factors, 3);
  const __m256i part5 = _mm256_permute2x128_si256(part2, part2, 1);
  const __m256i part6 = _mm256_permute2x128_si256(part1, part1, 1);
  const __m256i row07 = join({part0, part1, part3}, k.row0);
  const __m256i row16 = join({part0, part1, part2, part3, part5}, k.row1);
  const __m256i row25 = join({part0, part1, part2, part3, part5}, k.row2);
  const __m256i row34 = join({part1, part2, part3, part5, part6}, k.row3);
  return {{_mm256_permute2x128_si256(row07, row16, 0x20),
           _mm256_permute2x128_si256(row25, row34, 0x20),
           _mm256_permute2x128_si256(row34, row25, 0x31),
           _mm256_permute2x128_si256(row16, row07, 0x31)}};
}

// The first four rows, where only the first ten values of the scan are not zero.
STOKER_AVX2_INLINE RowPairs<2> natural_rows_of_ten(const int16_t* scan, const int16_t* factors) {
  using namespace block_order;
  const Shuffles& k = opaque(kShuffles);
  const __m256i values = _mm256_mullo_epi16(load(scan), load(factors));
  const __m256i part0 = _mm256_permute2x128_si256(values, values, 0x00);
  const __m256i part1 = _mm256_permute2x128_si256(values, values, 0x11);
  return {{take(part0, k.rows01_part0),
           _mm256_or_si256(take(part0, k.rows23_part0), take(part1, k.rows23_part1))}};
}

// How many values of a scan's block may be other than zero: only the first, only the first ten
// (those of row + column < 4), or any.
enum class BlockExtent : uint8_t { first, first_ten, all };

// Without a jump: what a block is, nothing predicts.
STOKER_AVX2_INLINE BlockExtent block_extent(const int16_t* scan) {
  using namespace block_order;
  const Shuffles& k = opaque(kShuffles);
  const __m256i begin = load(scan);
  const __m256i later =
      _mm256_or_si256(_mm256_or_si256(load(scan + 16), load(scan + 32)), load(scan + 48));
  const __m256i behind_first =
      _mm256_or_si256(_mm256_andnot_si256(get(k.mask_first), begin), later);
  const __m256i behind_ten =
      _mm256_or_si256(_mm256_andnot_si256(get(k.mask_first_ten), begin), later);
  int extent = 2 - _mm256_testz_si256(behind_first, behind_first) -
               _mm256_testz_si256(behind_ten, behind_ten);
  asm("" : "+r"(extent));  // else GCC makes jumps of it
  return static_cast<BlockExtent>(extent);
}

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
