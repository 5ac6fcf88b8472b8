#include "io/decoder/jpeg/block_order.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>

#include "io/decoder/jpeg/avx2_constants.h"
#include "io/decoder/jpeg/jpeg_frame.h"

// The scan's order is symmetric: what stands at (row, column) comes as long after the block's begin
// as what stands opposite to it comes before its end. So a register holds eight values of the scan
// and those opposite to them, and one shuffle serves a row of the upper half and one of the lower
// half.

namespace stoker {
namespace {

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

struct Constants {
  Shuffle row0[3] = {shuffle(0, 0), shuffle(0, 1), shuffle(0, 3)};
  Shuffle row1[5] = {shuffle(1, 0), shuffle(1, 1), shuffle(1, 2), shuffle(1, 3), shuffle(1, 5)};
  Shuffle row2[5] = {shuffle(2, 0), shuffle(2, 1), shuffle(2, 2), shuffle(2, 3), shuffle(2, 5)};
  Shuffle row3[5] = {shuffle(3, 1), shuffle(3, 2), shuffle(3, 3), shuffle(3, 5), shuffle(3, 6)};
  // Of the first ten values alone.
  Shuffle rows01_part0 = lower_halves(row0[0], row1[0]);
  Shuffle rows23_part0 =
      lower_halves(row2[0], {{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}});
  Shuffle rows23_part1 = lower_halves(row2[1], row3[0]);
  Shuffle mask_first_ten = {{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                             -1, -1, -1, -1, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0}};
};
constexpr Constants kConstants;

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

STOKER_AVX2_INLINE __m256i take(__m256i values, const Shuffle& order) {
  return _mm256_shuffle_epi8(values, get(order));
}

template <size_t n>
STOKER_AVX2_INLINE __m256i join(const __m256i (&from)[n], const Shuffle (&order)[n]) {
  __m256i joined = take(from[0], order[0]);
  for (size_t i = 1; i < n; ++i) joined = _mm256_or_si256(joined, take(from[i], order[i]));
  return joined;
}

// Two rows at once, because the inverse DCT loads two: a load of several stores has to wait.
STOKER_AVX2_INLINE void store_rows(__m256i rows, size_t row, int16_t* natural) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(natural + 8 * row), rows);
}

// (row, 7 - row) and (row + 1, 6 - row).
STOKER_AVX2_INLINE void store_rows(__m256i first, __m256i second, size_t row, int16_t* natural) {
  store_rows(_mm256_permute2x128_si256(first, second, 0x20), row, natural);
  store_rows(_mm256_permute2x128_si256(second, first, 0x31), 6 - row, natural);
}

}  // namespace

STOKER_AVX2 void reorder_block(const int16_t* scan, int16_t* natural) {
  const Constants& k = opaque(kConstants);
  const __m256i part0 = opposites(scan, 0), part1 = opposites(scan, 1);
  const __m256i part2 = opposites(scan, 2), part3 = opposites(scan, 3);
  const __m256i part5 = _mm256_permute2x128_si256(part2, part2, 1);
  const __m256i part6 = _mm256_permute2x128_si256(part1, part1, 1);
  store_rows(join({part0, part1, part3}, k.row0), join({part0, part1, part2, part3, part5}, k.row1),
             0, natural);
  store_rows(join({part0, part1, part2, part3, part5}, k.row2),
             join({part1, part2, part3, part5, part6}, k.row3), 2, natural);
}

STOKER_AVX2 void reorder_first_ten(const int16_t* scan, int16_t* natural) {
  const Constants& k = opaque(kConstants);
  const __m256i values = load(scan);
  const __m256i part0 = _mm256_permute2x128_si256(values, values, 0x00);
  const __m256i part1 = _mm256_permute2x128_si256(values, values, 0x11);
  store_rows(take(part0, k.rows01_part0), 0, natural);
  store_rows(_mm256_or_si256(take(part0, k.rows23_part0), take(part1, k.rows23_part1)), 2, natural);
  store_rows(_mm256_setzero_si256(), 4, natural);
  store_rows(_mm256_setzero_si256(), 6, natural);
}

STOKER_AVX2 BlockExtent block_extent(const int16_t* scan) {
  const Constants& k = opaque(kConstants);
  const __m256i begin = load(scan);
  const __m256i rest = _mm256_or_si256(
      _mm256_or_si256(load(scan + 16), load(scan + 32)),
      _mm256_or_si256(load(scan + 48), _mm256_andnot_si256(get(k.mask_first_ten), begin)));
  if (!_mm256_testz_si256(rest, rest)) return BlockExtent::all;
  // Only the first ten are left.
  const __m256i behind_first = _mm256_srli_si256(begin, 2);
  const __m256i others = _mm256_or_si256(_mm256_permute4x64_epi64(begin, 0xaa), behind_first);
  const __m128i any = _mm256_castsi256_si128(others);
  return _mm_testz_si128(any, any) ? BlockExtent::first : BlockExtent::first_ten;
}

}  // namespace stoker

#endif
