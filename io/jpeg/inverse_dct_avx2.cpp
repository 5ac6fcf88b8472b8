#include "io/jpeg/inverse_dct.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "io/decoder/avx512.h"
#include "io/jpeg/avx2_constants.h"
#include "io/jpeg/block_order_avx2.h"
#include "io/jpeg/jpeg_frame.h"

// Loeffler, Ligtenberg and Moschytz's transform with IJG's constants (jidctint.c), columns first.
//
// Unlike libjpeg-turbo's, a register never holds two different terms: 16-bit data lie as [a: four
// lines, b: four lines | a: the other four, b: the other four], so that an unpack of two registers
// gives the pairs (a, c) of all eight lines in one register, each a pmaddwd away from a term. That
// needs no shuffle across the halves but the transposition's.

namespace stoker {
namespace {

using namespace accurate_dct;

constexpr Words bytes(const int (&half)[16]) {
  Words out;
  for (int i = 0; i < 16; ++i) {
    const int j = i % 8 * 2;
    out.values[i] = static_cast<int16_t>(half[j] | half[j + 1] << 8);
  }
  return out;
}

constexpr Words both(const int (&low)[2], const int (&high)[2]) {
  return pairs(low[0], low[1], high[0], high[1]);
}

struct Constants {
  // Both passes: pairs (sum, round) by (1, half / round).
  Words column_round = pairs(1, 1), column_scale = pairs(k1_000, kColumnHalf);
  Words row_round = pairs(8, 8), row_scale = pairs(k1_000, kRowHalf / 8);
  Words tmp2 = pairs(k0_541, k0_541 - k1_847), tmp3 = pairs(k0_541 + k0_765, k0_541);
  Words z3 = pairs(k1_175 - k1_961, k1_175), z4 = pairs(k1_175, k1_175 - k0_390);
  Words odd[4] = {pairs(-k0_899, k1_501 - k0_899), pairs(-k2_562, k3_072 - k2_562),
                  pairs(k2_053 - k2_562, -k2_562), pairs(k0_298 - k0_899, -k0_899)};
  // The same where only 4 x 4 coefficients are not zero.
  Words even01 = both(kEven[0], kEven[1]), even32 = both(kEven[3], kEven[2]);
  Words odd01 = both(kOdd[0], kOdd[1]), odd32 = both(kOdd[3], kOdd[2]);
  Words row_even[4] = {both(kEven[0], kEven[0]), both(kEven[1], kEven[1]), both(kEven[2], kEven[2]),
                       both(kEven[3], kEven[3])};
  Words row_odd[4] = {both(kOdd[0], kOdd[0]), both(kOdd[1], kOdd[1]), both(kOdd[2], kOdd[2]),
                      both(kOdd[3], kOdd[3])};
  Words column_half = pairs(kColumnHalf, 0), row_half = pairs(0, kRowHalf >> 16);
  Words columns_0213_low = {{0, 0, 2, 0, 1, 0, 3, 0, 0, 0, 2, 0, 1, 0, 3, 0}};
  Words columns_0213_high = {{4, 0, 6, 0, 5, 0, 7, 0, 4, 0, 6, 0, 5, 0, 7, 0}};
  Words transpose_4x4 = bytes({0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
  Words center = pairs(-0x7f80, -0x7f80);
  Words overflow_offset = pairs(1 << 13, 1 << 13), overflow_mask = pairs(-1 << 14, -1 << 14);
};
constexpr Constants kConstants;

// a and b times the constants, summed, for each of eight pairs.
STOKER_AVX2_INLINE __m256i terms(__m256i lines, const Words& factors) {
  return _mm256_madd_epi16(lines, get(factors));
}

STOKER_AVX2_INLINE __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
STOKER_AVX2_INLINE __m256i subtract(__m256i a, __m256i b) { return _mm256_sub_epi32(a, b); }

struct Lines8 {
  __m256i of[8];  // eight 32-bit values each
};

STOKER_AVX2_INLINE Lines8 butterflies(const __m256i (&even)[4], const __m256i (&odd)[4],
                                      int shift) {
  Lines8 out;
  for (int i = 0; i < 4; ++i) {
    out.of[i] = _mm256_srai_epi32(add(even[i], odd[i]), shift);
    out.of[7 - i] = _mm256_srai_epi32(subtract(even[i], odd[i]), shift);
  }
  return out;
}

// in01: [in0: lines 0-3, in1: lines 0-3 | in0: lines 4-7, in1: lines 4-7]; the others likewise.
STOKER_AVX2_INLINE Lines8 transform(const Constants& k, const __m256i (&in)[4], const Words& round,
                                    const Words& scale, int shift) {
  const __m256i in01 = in[0], in23 = in[1], in45 = in[2], in67 = in[3];
  // 16-bit sums that wrap, as in libjpeg-turbo.
  const __m256i sum01_45 = _mm256_add_epi16(in01, in45), sum23_67 = _mm256_add_epi16(in23, in67);
  const __m256i difference01_45 = _mm256_sub_epi16(in01, in45);
  const __m256i tmp0 = terms(_mm256_unpacklo_epi16(sum01_45, get(round)), scale);
  const __m256i tmp1 = terms(_mm256_unpacklo_epi16(difference01_45, get(round)), scale);
  const __m256i in26 = _mm256_unpacklo_epi16(in23, in67);
  const __m256i tmp2 = terms(in26, k.tmp2), tmp3 = terms(in26, k.tmp3);
  const __m256i even[4] = {add(tmp0, tmp3), add(tmp1, tmp2), subtract(tmp1, tmp2),
                           subtract(tmp0, tmp3)};
  const __m256i z34 = _mm256_unpackhi_epi16(sum23_67, sum01_45);
  const __m256i z3 = terms(z34, k.z3), z4 = terms(z34, k.z4);
  const __m256i in71 = _mm256_unpackhi_epi16(in67, in01);
  const __m256i in53 = _mm256_unpackhi_epi16(in45, in23);
  const __m256i odd[4] = {add(terms(in71, k.odd[0]), z4), add(terms(in53, k.odd[1]), z3),
                          add(terms(in53, k.odd[2]), z4), add(terms(in71, k.odd[3]), z3)};
  return butterflies(even, odd, shift);
}

// GCC makes a single store of either; the intrinsics for it ask for alignment.
STOKER_AVX2_INLINE void store_low(__m128d rows, uint8_t* out) {
  const double half = _mm_cvtsd_f64(rows);
  std::memcpy(out, &half, sizeof(half));
}
STOKER_AVX2_INLINE void store_high(__m128d rows, uint8_t* out) {
  const double half = _mm_cvtsd_f64(_mm_unpackhi_pd(rows, rows));
  std::memcpy(out, &half, sizeof(half));
}

STOKER_AVX2_INLINE void store_rows(__m256i rows, uint8_t* out, size_t stride, const int (&y)[4]) {
  const __m128d low = _mm_castsi128_pd(_mm256_castsi256_si128(rows));
  const __m128d high = _mm_castsi128_pd(_mm256_extracti128_si256(rows, 1));
  store_low(low, out + static_cast<size_t>(y[0]) * stride);
  store_high(low, out + static_cast<size_t>(y[1]) * stride);
  store_low(high, out + static_cast<size_t>(y[2]) * stride);
  store_high(high, out + static_cast<size_t>(y[3]) * stride);
}

// Columns of eight samples to rows. y: the row of each of a column's 32-bit values.
STOKER_AVX2_INLINE void store_columns(const Constants& k, const Lines8& columns, uint8_t* out,
                                      size_t stride, const int (&y)[8]) {
  const auto& c = columns.of;
  const __m256i left =
      _mm256_packs_epi16(_mm256_packs_epi32(c[0], c[1]), _mm256_packs_epi32(c[2], c[3]));
  const __m256i right =
      _mm256_packs_epi16(_mm256_packs_epi32(c[4], c[5]), _mm256_packs_epi32(c[6], c[7]));
  const __m256i left4 = _mm256_shuffle_epi8(left, get(k.transpose_4x4));
  const __m256i right4 = _mm256_shuffle_epi8(right, get(k.transpose_4x4));
  store_rows(_mm256_add_epi8(_mm256_unpacklo_epi32(left4, right4), get(k.center)), out, stride,
             {y[0], y[1], y[4], y[5]});
  store_rows(_mm256_add_epi8(_mm256_unpackhi_epi32(left4, right4), get(k.center)), out, stride,
             {y[2], y[3], y[6], y[7]});
}

// Where all rows but the first are zero, libjpeg-turbo shifts the first one by two, without
// saturation. That differs from the transform for values that no encoder makes.
STOKER_AVX2_INLINE bool may_overflow(const Constants& k, __m256i row0) {
  return !_mm256_testz_si256(_mm256_add_epi16(row0, get(k.overflow_offset)), get(k.overflow_mask));
}

bool only_row0(const int16_t* scan) {
  for (size_t i = 0; i < 64; ++i) {
    if (kScanOrder[i] >= 8 && scan[i] != 0) return false;
  }
  return true;
}

// The transform of a row that gives what the shift would.
__attribute__((noinline)) void shifted(void (*transform)(const DctBlock&), const DctBlock& block) {
  alignas(32) int16_t values[64], ones[64];
  for (size_t i = 0; i < 64; ++i) {
    const int product = block.values[i] * block.quantisation[i];
    const int wrapped = static_cast<int16_t>(4u * static_cast<unsigned>(product));
    values[i] = static_cast<int16_t>(wrapped / 4);
  }
  std::fill_n(ones, 64, int16_t{1});
  transform({values, ones, block.out, block.stride, block.side});
}

// [row 0: columns 0-7 | row 1: columns 0-7] to [row 0, row 1: columns 0-3 | columns 4-7].
STOKER_AVX2_INLINE __m256i by_columns(__m256i rows) { return _mm256_permute4x64_epi64(rows, 0xd8); }

STOKER_AVX2 void full(const DctBlock& block) {
  const Constants& k = opaque(kConstants);
  const RowPairs<4> in = natural_rows(block.values, block.quantisation);
  if (may_overflow(k, in.of[0]) && only_row0(block.values)) return shifted(full, block);
  const __m256i by_rows[4] = {by_columns(in.of[0]), by_columns(in.of[1]), by_columns(in.of[2]),
                              by_columns(in.of[3])};
  const Lines8 rows = transform(k, by_rows, k.column_round, k.column_scale, kColumnShift);
  // [row 0, row 1: columns 0-3 | columns 4-7] to [column 0, column 1: rows 0-3 | rows 4-7]
  const auto& r = rows.of;
  const __m256i r01 = _mm256_packs_epi32(r[0], r[1]), r23 = _mm256_packs_epi32(r[2], r[3]);
  const __m256i r45 = _mm256_packs_epi32(r[4], r[5]), r67 = _mm256_packs_epi32(r[6], r[7]);
  const __m256i left0 = _mm256_permute2x128_si256(r01, r45, 0x20);
  const __m256i left2 = _mm256_permute2x128_si256(r23, r67, 0x20);
  const __m256i right0 = _mm256_permute2x128_si256(r01, r45, 0x31);
  const __m256i right2 = _mm256_permute2x128_si256(r23, r67, 0x31);
  const __m256i left02 = _mm256_unpacklo_epi16(left0, left2);
  const __m256i left13 = _mm256_unpackhi_epi16(left0, left2);
  const __m256i right02 = _mm256_unpacklo_epi16(right0, right2);
  const __m256i right13 = _mm256_unpackhi_epi16(right0, right2);
  const __m256i turned[4] = {
      _mm256_unpacklo_epi16(left02, left13), _mm256_unpackhi_epi16(left02, left13),
      _mm256_unpacklo_epi16(right02, right13), _mm256_unpackhi_epi16(right02, right13)};
  const Lines8 columns = transform(k, turned, k.row_round, k.row_scale, kRowShift);
  store_columns(k, columns, block.out, block.stride, {0, 1, 2, 3, 4, 5, 6, 7});
}

STOKER_AVX2 void first_ten(const DctBlock& block) {
  const Constants& k = opaque(kConstants);
  const RowPairs<2> in = natural_rows_of_ten(block.values, block.quantisation);
  if (may_overflow(k, in.of[0]) && only_row0(block.values)) return shifted(first_ten, block);
  // Pairs (row 0, row 2) of columns 0, 2, 1, 3 in both halves, and pairs (row 1, row 3).
  const __m256i pairs02_13 = _mm256_unpacklo_epi16(in.of[0], in.of[1]);
  const __m256i in02 = _mm256_permutevar8x32_epi32(pairs02_13, get(k.columns_0213_low));
  const __m256i in13 = _mm256_permutevar8x32_epi32(pairs02_13, get(k.columns_0213_high));
  const __m256i even01 = add(terms(in02, k.even01), get(k.column_half));
  const __m256i even32 = add(terms(in02, k.even32), get(k.column_half));
  const __m256i odd01 = terms(in13, k.odd01), odd32 = terms(in13, k.odd32);
  const __m256i rows03_12 = _mm256_packs_epi32(_mm256_srai_epi32(add(even01, odd01), kColumnShift),
                                               _mm256_srai_epi32(add(even32, odd32), kColumnShift));
  const __m256i rows47_56 =
      _mm256_packs_epi32(_mm256_srai_epi32(subtract(even32, odd32), kColumnShift),
                         _mm256_srai_epi32(subtract(even01, odd01), kColumnShift));
  const __m256 a = _mm256_castsi256_ps(rows03_12), b = _mm256_castsi256_ps(rows47_56);
  const __m256i columns02 = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
  const __m256i columns13 = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
  __m256i even[4], odd[4];
  for (int i = 0; i < 4; ++i) {
    even[i] = add(terms(columns02, k.row_even[i]), get(k.row_half));
    odd[i] = terms(columns13, k.row_odd[i]);
  }
  store_columns(k, butterflies(even, odd, kRowShift), block.out, block.stride,
                {0, 3, 4, 7, 1, 2, 5, 6});
}

void first(const DctBlock& block) {
  const int dequantised = block.values[0] * block.quantisation[0];
  const auto shifted = static_cast<int16_t>(static_cast<unsigned>(dequantised) << 2);
  const int sample = std::clamp(((shifted + 16) >> 5) + 128, 0, 255);
  const uint64_t row = static_cast<uint64_t>(sample) * 0x0101010101010101u;
  uint8_t* out = block.out;
  for (int y = 0; y < 8; ++y, out += block.stride) std::memcpy(out, &row, sizeof(row));
}

template <void (*transform)(const DctBlock&)>
void each(const DctBlock* blocks, size_t count) {
  for (size_t i = 0; i < count; ++i) transform(blocks[i]);
}

}  // namespace

InverseDcts avx2_inverse_dcts() { return {each<full>, each<first_ten>, each<first>}; }

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
