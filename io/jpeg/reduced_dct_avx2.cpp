#include "io/jpeg/inverse_dct.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "io/jpeg/avx2_constants.h"
#include "io/jpeg/block_order_avx2.h"

// IJG's transforms that leave out what a smaller image does not show (jidctred.c): four points out
// of eight coefficients but the fifth, two out of the first and the odd ones. Columns come first,
// with two more bits than the result; every column is rounded on its own.
//
// All columns are transformed at once. The results of columns x and x + 4 come to lie side by side,
// and one pmaddwd turns each of these four pairs into its part of a row.

namespace stoker {
namespace {

constexpr int kFractionBits = 13, kColumnBits = 2;
// Sums of columns stay below 16 bits: 2 * 9.2 and 10.5 times this.
constexpr int kMaxDequantised = 1780;

constexpr int fixed(double value) { return static_cast<int>(value * (1 << kFractionBits) + 0.5); }

// How many bits are shifted away behind columns and rows of four points. Two points take one bit
// more.
constexpr int kColumnShift = kFractionBits - kColumnBits + 1;
constexpr int kRowShift = kFractionBits + kColumnBits + 3 + 1;

struct Constants {
  Words most = pairs(kMaxDequantised, kMaxDequantised);
  Words least = pairs(-kMaxDequantised, -kMaxDequantised);
  // Pairs (0, 4), as which column 4 counts for nothing, (2, 6), (3, 7) and (1, 5).
  Words four_first = pairs(1 << (kFractionBits + 1), 0);
  Words four_even = pairs(fixed(1.847759065), -fixed(0.765366865));
  Words four_inner37 = pairs(-fixed(2.172734803), -fixed(0.211164243));
  Words four_inner15 = pairs(fixed(1.061594337), fixed(1.451774981));
  Words four_outer37 = pairs(fixed(0.899976223), -fixed(0.509795579));
  Words four_outer15 = pairs(fixed(2.562915447), -fixed(0.601344887));
  Words two_odd37 = pairs(-fixed(1.272758580), -fixed(0.720959822));
  Words two_odd15 = pairs(fixed(3.624509785), fixed(0.850430095));
};
constexpr Constants kConstants;

// 32-bit values in four pairs of lines each: (0, 4), (2, 6), (3, 7) and (1, 5).
struct Pairs {
  __m256i of04, of26, of37, of15;
};

STOKER_AVX2_INLINE __m256i terms(__m256i lines, const Words& factors) {
  return _mm256_madd_epi16(lines, get(factors));
}
STOKER_AVX2_INLINE __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
STOKER_AVX2_INLINE __m256i subtract(__m256i a, __m256i b) { return _mm256_sub_epi32(a, b); }

STOKER_AVX2_INLINE __m256i rounded_shift(__m256i values, int bits) {
  return _mm256_srai_epi32(add(values, _mm256_set1_epi32(1 << (bits - 1))), bits);
}

STOKER_AVX2_INLINE void four_points(const Constants& k, const Pairs& in, int shift,
                                    __m256i (&out)[4]) {
  const __m256i first = terms(in.of04, k.four_first), even = terms(in.of26, k.four_even);
  const __m256i inner = add(terms(in.of37, k.four_inner37), terms(in.of15, k.four_inner15));
  const __m256i outer = add(terms(in.of37, k.four_outer37), terms(in.of15, k.four_outer15));
  out[0] = rounded_shift(add(add(first, even), outer), shift);
  out[1] = rounded_shift(add(subtract(first, even), inner), shift);
  out[2] = rounded_shift(subtract(subtract(first, even), inner), shift);
  out[3] = rounded_shift(subtract(add(first, even), outer), shift);
}

STOKER_AVX2_INLINE void two_points(const Constants& k, const Pairs& in, int shift,
                                   __m256i (&out)[2]) {
  // The first of each pair, times 2^15.
  const __m256i first = _mm256_srai_epi32(_mm256_slli_epi32(in.of04, 16), 1);
  const __m256i odd = add(terms(in.of37, k.two_odd37), terms(in.of15, k.two_odd15));
  out[0] = rounded_shift(add(first, odd), shift);
  out[1] = rounded_shift(subtract(first, odd), shift);
}

// Rows a and b of eight columns -> pairs of columns (0, 4), (1, 5), (2, 6), (3, 7); those of a are
// in the lower half.
STOKER_AVX2_INLINE __m256i column_pairs(__m256i a, __m256i b) {
  const __m256i rows = _mm256_packs_epi32(a, b);  // [a: 0-3, b: 0-3 | a: 4-7, b: 4-7]
  const __m128i low = _mm256_castsi256_si128(rows), high = _mm256_extracti128_si256(rows, 1);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi16(low, high)),
                                 _mm_unpackhi_epi16(low, high), 1);
}

STOKER_AVX2_INLINE void store_samples(uint32_t samples, size_t side, uint8_t* out) {
  std::memcpy(out, &samples, side);
}

// Rows 0 and 1, 2 and 3 -> samples.
STOKER_AVX2_INLINE void rows_of_four(const Constants& k, __m256i rows01, __m256i rows23,
                                     const DctBlock& block) {
  // Each pair of all rows, in the order 0, 2, and in the upper half 1, 3.
  const __m256i low = _mm256_unpacklo_epi32(rows01, rows23);
  const __m256i high = _mm256_unpackhi_epi32(rows01, rows23);
  const Pairs in{_mm256_shuffle_epi32(low, 0x44), _mm256_shuffle_epi32(high, 0x44),
                 _mm256_shuffle_epi32(high, 0xee), _mm256_shuffle_epi32(low, 0xee)};
  __m256i out[4];
  four_points(k, in, kRowShift, out);
  // Each half has columns 0 to 3 of its first row, then those of its second one.
  const __m256i columns01 = _mm256_unpacklo_epi32(out[0], out[1]);
  const __m256i columns23 = _mm256_unpacklo_epi32(out[2], out[3]);
  const __m256i words = _mm256_packs_epi32(_mm256_unpacklo_epi64(columns01, columns23),
                                           _mm256_unpackhi_epi64(columns01, columns23));
  const __m256i samples =
      _mm256_xor_si256(_mm256_packs_epi16(words, words), _mm256_set1_epi8(static_cast<char>(0x80)));
  const __m128i rows02 = _mm256_castsi256_si128(samples);
  const __m128i rows13 = _mm256_extracti128_si256(samples, 1);
  uint8_t* const out0 = block.out;
  store_samples(static_cast<uint32_t>(_mm_extract_epi32(rows02, 0)), 4, out0);
  store_samples(static_cast<uint32_t>(_mm_extract_epi32(rows13, 0)), 4, out0 + block.stride);
  store_samples(static_cast<uint32_t>(_mm_extract_epi32(rows02, 1)), 4, out0 + 2 * block.stride);
  store_samples(static_cast<uint32_t>(_mm_extract_epi32(rows13, 1)), 4, out0 + 3 * block.stride);
}

STOKER_AVX2_INLINE void rows_of_two(const Constants& k, __m256i rows01, const DctBlock& block) {
  const Pairs in{rows01, rows01, _mm256_shuffle_epi32(rows01, 0xff),
                 _mm256_shuffle_epi32(rows01, 0x55)};
  __m256i out[2];
  two_points(k, in, kRowShift + 1, out);
  const __m256i columns = _mm256_unpacklo_epi32(out[0], out[1]);
  const __m256i words = _mm256_packs_epi32(columns, columns);
  const __m256i samples =
      _mm256_xor_si256(_mm256_packs_epi16(words, words), _mm256_set1_epi8(static_cast<char>(0x80)));
  const __m128i row0 = _mm256_castsi256_si128(samples);
  const __m128i row1 = _mm256_extracti128_si256(samples, 1);
  store_samples(static_cast<uint32_t>(_mm_cvtsi128_si32(row0)), 2, block.out);
  store_samples(static_cast<uint32_t>(_mm_cvtsi128_si32(row1)), 2, block.out + block.stride);
}

// [row 0: columns 0-7 | row 1: columns 0-7] to [row 0, row 1: columns 0-3 | columns 4-7].
STOKER_AVX2_INLINE __m256i by_columns(__m256i rows) { return _mm256_permute4x64_epi64(rows, 0xd8); }

// Whether no product of a value and its factor is too large.
STOKER_AVX2_INLINE bool within_limits(const Constants& k, const DctBlock& block) {
  __m256i outside = _mm256_setzero_si256();
  for (size_t i = 0; i < 64; i += 16) {
    const __m256i values = block_order::load(block.values + i);
    const __m256i factors = block_order::load(block.quantisation + i);
    const __m256i low = _mm256_mullo_epi16(values, factors);
    const __m256i lost =
        _mm256_xor_si256(_mm256_mulhi_epi16(values, factors), _mm256_srai_epi16(low, 15));
    const __m256i beyond = _mm256_or_si256(_mm256_cmpgt_epi16(low, get(k.most)),
                                           _mm256_cmpgt_epi16(get(k.least), low));
    outside = _mm256_or_si256(outside, _mm256_or_si256(lost, beyond));
  }
  return _mm256_testz_si256(outside, outside) != 0;
}

bool flat(const DctBlock& block) {
  const int dequantised = block.values[0] * block.quantisation[0];
  if (std::abs(dequantised) > kMaxDequantised) return false;
  const int sample = std::clamp((dequantised + 4) >> 3, -128, 127) + 128;
  for (size_t y = 0; y < block.side; ++y) {
    std::memset(block.out + y * block.stride, sample, block.side);
  }
  return true;
}

}  // namespace

STOKER_AVX2 bool reduced_inverse_dct(const DctBlock& block) {
  if (block.side == 1) return flat(block);
  const Constants& k = opaque(kConstants);
  if (!within_limits(k, block)) return false;
  const RowPairs<4> rows = natural_rows(block.values, block.quantisation);
  __m256i in[4];
  for (size_t i = 0; i < 4; ++i) in[i] = by_columns(rows.of[i]);
  const Pairs lines{_mm256_unpacklo_epi16(in[0], in[2]), _mm256_unpacklo_epi16(in[1], in[3]),
                    _mm256_unpackhi_epi16(in[1], in[3]), _mm256_unpackhi_epi16(in[0], in[2])};
  if (block.side == 4) {
    __m256i out[4];
    four_points(k, lines, kColumnShift, out);
    rows_of_four(k, column_pairs(out[0], out[1]), column_pairs(out[2], out[3]), block);
  } else {
    __m256i out[2];
    two_points(k, lines, kColumnShift + 1, out);
    rows_of_two(k, column_pairs(out[0], out[1]), block);
  }
  return true;
}

}  // namespace stoker

#endif
