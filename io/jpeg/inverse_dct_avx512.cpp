#include "io/jpeg/inverse_dct.h"

#if defined(__x86_64__)

#include <array>
#include <cstring>

#include "io/decoder/avx512.h"
#include "io/jpeg/jpeg_frame.h"

// As inverse_dct_avx2.cpp, with one block in the lower half of each register and another one in the
// upper half. The order of the coefficients is made by permutations of 32 values out of 64.

namespace stoker {
namespace {

using namespace accurate_dct;

// For one block: where a value comes from in the scan's order.
using Places = std::array<int16_t, 32>;

constexpr int16_t place_in_scan(size_t row, size_t column) {
  int16_t place = 0;
  while (kScanOrder[static_cast<size_t>(place)] != 8 * row + column) ++place;
  return place;
}

// [rows r, r + 1: columns 0-3 | columns 4-7], then the same of rows r + 2, r + 3.
constexpr Places four_rows(size_t first) {
  Places places{};
  for (size_t i = 0; i < 32; ++i) {
    places[i] = place_in_scan(first + i / 16 * 2 + i % 8 / 4, i / 8 % 2 * 4 + i % 4);
  }
  return places;
}

// Pairs (row, row + 2) of the columns 0, 2, 1, 3, for the first ten values of two blocks, in both
// halves of each.
struct PairsOfTen {
  std::array<int8_t, 64> bytes{};
  uint64_t present = 0;
};
constexpr PairsOfTen pairs_of_ten(size_t row) {
  constexpr size_t kColumns[] = {0, 2, 1, 3};
  PairsOfTen pairs;
  for (size_t i = 0; i < 32; ++i) {
    const int16_t place = place_in_scan(row + i % 2 * 2, kColumns[i / 2 % 4]);
    if (place >= 10) continue;
    for (size_t byte = 0; byte < 2; ++byte) {
      pairs.bytes[2 * i + byte] =
          static_cast<int8_t>(static_cast<size_t>(2 * place) + i / 16 * 32 + byte);
      pairs.present |= uint64_t{1} << (2 * i + byte);
    }
  }
  return pairs;
}

struct Constants {
  alignas(64) Places rows0_3 = four_rows(0);
  alignas(64) Places rows4_7 = four_rows(4);
  alignas(64) PairsOfTen rows02 = pairs_of_ten(0);
  alignas(64) PairsOfTen rows13 = pairs_of_ten(1);
  alignas(64) std::array<int64_t, 8> left{0, 1, 8, 9, 4, 5, 12, 13};
  alignas(64) std::array<int64_t, 8> right{2, 3, 10, 11, 6, 7, 14, 15};
};
constexpr Constants kConstants;

STOKER_AVX512_INLINE __m512i pairs(int a, int b) {
  return _mm512_set1_epi32(static_cast<int>(static_cast<uint32_t>(b) << 16 | (a & 0xffff)));
}
// In both halves of a block those of each.
STOKER_AVX512_INLINE __m512i pairs(const int (&low)[2], const int (&high)[2]) {
  return _mm512_mask_blend_epi32(0xf0f0, pairs(low[0], low[1]), pairs(high[0], high[1]));
}

STOKER_AVX512_INLINE __m512i terms(__m512i lines, __m512i factors) {
  return _mm512_madd_epi16(lines, factors);
}
STOKER_AVX512_INLINE __m512i terms(__m512i lines, int a, int b) {
  return _mm512_madd_epi16(lines, pairs(a, b));
}
// The same, added to `sum`.
STOKER_AVX512_INLINE __m512i add_terms(__m512i sum, __m512i lines, __m512i factors) {
  return _mm512_dpwssd_epi32(sum, lines, factors);
}
STOKER_AVX512_INLINE __m512i add_terms(__m512i sum, __m512i lines, int a, int b) {
  return _mm512_dpwssd_epi32(sum, lines, pairs(a, b));
}
STOKER_AVX512_INLINE __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
STOKER_AVX512_INLINE __m512i subtract(__m512i a, __m512i b) { return _mm512_sub_epi32(a, b); }

struct Lines8 {
  __m512i of[8];
};

template <int shift>
STOKER_AVX512_INLINE Lines8 butterflies(const __m512i (&even)[4], const __m512i (&odd)[4]) {
  Lines8 out;
  for (int i = 0; i < 4; ++i) {
    out.of[i] = _mm512_srai_epi32(add(even[i], odd[i]), shift);
    out.of[7 - i] = _mm512_srai_epi32(subtract(even[i], odd[i]), shift);
  }
  return out;
}

// `half`: half a unit, in units of `round`.
template <int shift, int round>
STOKER_AVX512_INLINE Lines8 transform(const __m512i (&in)[4]) {
  const __m512i in01 = in[0], in23 = in[1], in45 = in[2], in67 = in[3];
  const __m512i rounding = _mm512_set1_epi16(round);
  constexpr int kHalf = (1 << (shift - 1)) / round;
  const __m512i sum01_45 = _mm512_add_epi16(in01, in45), sum23_67 = _mm512_add_epi16(in23, in67);
  const __m512i difference01_45 = _mm512_sub_epi16(in01, in45);
  const __m512i tmp0 = terms(_mm512_unpacklo_epi16(sum01_45, rounding), k1_000, kHalf);
  const __m512i tmp1 = terms(_mm512_unpacklo_epi16(difference01_45, rounding), k1_000, kHalf);
  const __m512i in26 = _mm512_unpacklo_epi16(in23, in67);
  constexpr int kTmp2[] = {k0_541, k0_541 - k1_847}, kTmp3[] = {k0_541 + k0_765, k0_541};
  const __m512i even[4] = {
      add_terms(tmp0, in26, kTmp3[0], kTmp3[1]), add_terms(tmp1, in26, kTmp2[0], kTmp2[1]),
      add_terms(tmp1, in26, -kTmp2[0], -kTmp2[1]), add_terms(tmp0, in26, -kTmp3[0], -kTmp3[1])};
  const __m512i z34 = _mm512_unpackhi_epi16(sum23_67, sum01_45);
  const __m512i z3 = terms(z34, k1_175 - k1_961, k1_175);
  const __m512i z4 = terms(z34, k1_175, k1_175 - k0_390);
  const __m512i in71 = _mm512_unpackhi_epi16(in67, in01);
  const __m512i in53 = _mm512_unpackhi_epi16(in45, in23);
  const __m512i odd[4] = {
      add_terms(z4, in71, -k0_899, k1_501 - k0_899), add_terms(z3, in53, -k2_562, k3_072 - k2_562),
      add_terms(z4, in53, k2_053 - k2_562, -k2_562), add_terms(z3, in71, k0_298 - k0_899, -k0_899)};
  return butterflies<shift>(even, odd);
}

// Two rows of a block.
STOKER_AVX512_INLINE void store_rows(__m128i rows, const DctBlock& block, int y0, int y1) {
  const __m128d both = _mm_castsi128_pd(rows);
  const double low = _mm_cvtsd_f64(both), high = _mm_cvtsd_f64(_mm_unpackhi_pd(both, both));
  std::memcpy(block.out + static_cast<size_t>(y0) * block.stride, &low, sizeof low);
  std::memcpy(block.out + static_cast<size_t>(y1) * block.stride, &high, sizeof high);
}

STOKER_AVX512_INLINE void store_rows(__m512i rows, const DctBlock& a, const DctBlock& b,
                                     const int (&y)[4]) {
  store_rows(_mm512_castsi512_si128(rows), a, y[0], y[1]);
  store_rows(_mm512_extracti32x4_epi32(rows, 1), a, y[2], y[3]);
  store_rows(_mm512_extracti32x4_epi32(rows, 2), b, y[0], y[1]);
  store_rows(_mm512_extracti32x4_epi32(rows, 3), b, y[2], y[3]);
}

// Columns of eight samples to rows. y: the row of each of a column's values.
STOKER_AVX512_INLINE void store_columns(const Lines8& columns, const DctBlock& a, const DctBlock& b,
                                        const int (&y)[8]) {
  const auto& c = columns.of;
  const __m512i transpose_4x4 =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m512i center = _mm512_set1_epi8(static_cast<char>(0x80));
  const __m512i left =
      _mm512_packs_epi16(_mm512_packs_epi32(c[0], c[1]), _mm512_packs_epi32(c[2], c[3]));
  const __m512i right =
      _mm512_packs_epi16(_mm512_packs_epi32(c[4], c[5]), _mm512_packs_epi32(c[6], c[7]));
  const __m512i left4 = _mm512_shuffle_epi8(left, transpose_4x4);
  const __m512i right4 = _mm512_shuffle_epi8(right, transpose_4x4);
  store_rows(_mm512_add_epi8(_mm512_unpacklo_epi32(left4, right4), center), a, b,
             {y[0], y[1], y[4], y[5]});
  store_rows(_mm512_add_epi8(_mm512_unpackhi_epi32(left4, right4), center), a, b,
             {y[2], y[3], y[6], y[7]});
}

// Where libjpeg-turbo's sums may be others; in `places` are values of first rows.
STOKER_AVX512_INLINE bool may_overflow(__mmask32 places, __m512i values) {
  const __m512i shifted = _mm512_add_epi16(values, _mm512_set1_epi16(1 << 13));
  return _mm512_mask_test_epi16_mask(places, shifted, _mm512_set1_epi16(-1 << 14)) != 0;
}

// Values [at, at + 32) of a block's scan.
STOKER_AVX512_INLINE __m512i dequantised(const DctBlock& block, size_t at) {
  return _mm512_mullo_epi16(_mm512_load_si512(block.values + at),
                            _mm512_load_si512(block.quantisation + at));
}
// Values [0, 16).
STOKER_AVX512_INLINE __m256i dequantised(const DctBlock& block) {
  return _mm256_mullo_epi16(
      _mm256_load_si256(reinterpret_cast<const __m256i*>(block.values)),
      _mm256_load_si256(reinterpret_cast<const __m256i*>(block.quantisation)));
}

// Rows 0 to 3, or 4 to 7, of a block.
STOKER_AVX512_INLINE __m512i four_rows(const DctBlock& block, const Places& places) {
  return _mm512_permutex2var_epi16(dequantised(block, 0), get512(places), dequantised(block, 32));
}

STOKER_AVX512_INLINE bool full(const DctBlock& a, const DctBlock& b) {
  const Constants& k = kConstants;
  const __m512i top_a = four_rows(a, k.rows0_3), bottom_a = four_rows(a, k.rows4_7);
  const __m512i top_b = four_rows(b, k.rows0_3), bottom_b = four_rows(b, k.rows4_7);
  const __m512i by_rows[4] = {_mm512_shuffle_i64x2(top_a, top_b, 0x44),
                              _mm512_shuffle_i64x2(top_a, top_b, 0xee),
                              _mm512_shuffle_i64x2(bottom_a, bottom_b, 0x44),
                              _mm512_shuffle_i64x2(bottom_a, bottom_b, 0xee)};
  if (may_overflow(0x0f0f0f0f, by_rows[0])) return false;
  const Lines8 rows = transform<kColumnShift, 1>(by_rows);
  const auto& r = rows.of;
  const __m512i r01 = _mm512_packs_epi32(r[0], r[1]), r23 = _mm512_packs_epi32(r[2], r[3]);
  const __m512i r45 = _mm512_packs_epi32(r[4], r[5]), r67 = _mm512_packs_epi32(r[6], r[7]);
  const __m512i left0 = _mm512_permutex2var_epi64(r01, get512(k.left), r45);
  const __m512i left2 = _mm512_permutex2var_epi64(r23, get512(k.left), r67);
  const __m512i right0 = _mm512_permutex2var_epi64(r01, get512(k.right), r45);
  const __m512i right2 = _mm512_permutex2var_epi64(r23, get512(k.right), r67);
  const __m512i left02 = _mm512_unpacklo_epi16(left0, left2);
  const __m512i left13 = _mm512_unpackhi_epi16(left0, left2);
  const __m512i right02 = _mm512_unpacklo_epi16(right0, right2);
  const __m512i right13 = _mm512_unpackhi_epi16(right0, right2);
  const __m512i turned[4] = {
      _mm512_unpacklo_epi16(left02, left13), _mm512_unpackhi_epi16(left02, left13),
      _mm512_unpacklo_epi16(right02, right13), _mm512_unpackhi_epi16(right02, right13)};
  store_columns(transform<kRowShift, 8>(turned), a, b, {0, 1, 2, 3, 4, 5, 6, 7});
  return true;
}

STOKER_AVX512_INLINE bool first_ten(const DctBlock& a, const DctBlock& b) {
  const __m512i values =
      _mm512_inserti64x4(_mm512_castsi256_si512(dequantised(a)), dequantised(b), 1);
  if (may_overflow(0x00630063, values)) return false;
  const Constants& k = kConstants;
  const __m512i in02 =
      _mm512_maskz_permutexvar_epi8(k.rows02.present, get512(k.rows02.bytes), values);
  const __m512i in13 =
      _mm512_maskz_permutexvar_epi8(k.rows13.present, get512(k.rows13.bytes), values);
  const __m512i half = _mm512_set1_epi32(kColumnHalf);
  const __m512i even01 = add_terms(half, in02, pairs(kEven[0], kEven[1]));
  const __m512i even32 = add_terms(half, in02, pairs(kEven[3], kEven[2]));
  const __m512i odd01 = terms(in13, pairs(kOdd[0], kOdd[1]));
  const __m512i odd32 = terms(in13, pairs(kOdd[3], kOdd[2]));
  const __m512i rows03_12 = _mm512_packs_epi32(_mm512_srai_epi32(add(even01, odd01), kColumnShift),
                                               _mm512_srai_epi32(add(even32, odd32), kColumnShift));
  const __m512i rows47_56 =
      _mm512_packs_epi32(_mm512_srai_epi32(subtract(even32, odd32), kColumnShift),
                         _mm512_srai_epi32(subtract(even01, odd01), kColumnShift));
  const __m512 left = _mm512_castsi512_ps(rows03_12), right = _mm512_castsi512_ps(rows47_56);
  const __m512i columns02 = _mm512_castps_si512(_mm512_shuffle_ps(left, right, 0x88));
  const __m512i columns13 = _mm512_castps_si512(_mm512_shuffle_ps(left, right, 0xdd));
  __m512i even[4], odd[4];
  for (int i = 0; i < 4; ++i) {
    even[i] = add_terms(_mm512_set1_epi32(kRowHalf), columns02, kEven[i][0], kEven[i][1]);
    odd[i] = terms(columns13, kOdd[i][0], kOdd[i][1]);
  }
  store_columns(butterflies<kRowShift>(even, odd), a, b, {0, 3, 4, 7, 1, 2, 5, 6});
  return true;
}

// If their number is odd, the last one is transformed twice. It works on copies, because compilers
// then know that no sample overwrites them.
template <auto transform>
STOKER_AVX512_INLINE void by_two(const DctBlock* blocks, size_t count, InverseDct other) {
  for (size_t i = 0; i < count; i += 2) {
    const size_t second = i + (i + 1 < count ? 1 : 0);
    const DctBlock a = blocks[i], b = blocks[second];
    if (!transform(a, b)) {
      other(blocks + i, 1);
      other(blocks + second, 1);
    }
  }
}

STOKER_AVX512 void all_by_two(const DctBlock* blocks, size_t count) {
  by_two<full>(blocks, count, avx2_inverse_dcts().all);
}

STOKER_AVX512 void first_ten_by_two(const DctBlock* blocks, size_t count) {
  by_two<first_ten>(blocks, count, avx2_inverse_dcts().first_ten);
}

}  // namespace

InverseDcts avx512_inverse_dcts() {
  return {all_by_two, first_ten_by_two, avx2_inverse_dcts().first};
}

}  // namespace stoker

#endif
