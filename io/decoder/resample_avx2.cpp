#include "io/decoder/resample.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

// Only functions with STOKER_AVX2 may use AVX2: the rest of the program runs on every x86-64.
#define STOKER_AVX2 __attribute__((target("avx2")))
#define STOKER_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace stoker {
namespace {

STOKER_AVX2_INLINE __m256i load(const void* at) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

STOKER_AVX2_INLINE __m256i load_halves(const uint8_t* low, const uint8_t* high) {
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low));
  const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(high));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}

STOKER_AVX2_INLINE void store(uint16_t* at, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), value);
}

// One load serves `per_load` taps: the next tap's bytes are three further on. Both numbers are
// constants where the compiler is to unroll the loops.
STOKER_AVX2_INLINE void horizontal_taps(const uint8_t* row, const Columns& columns, int taps,
                                        int per_load, uint16_t* line) {
  const __m256i bias = _mm256_set1_epi16(static_cast<short>(columns.bias));
  const __m256i mask = _mm256_set1_epi16(static_cast<short>(columns.mask));
  const __m256i next_tap = _mm256_set1_epi8(3);
  const int32_t* offsets = columns.offsets.data();
  const uint8_t* shuffles = columns.shuffles.data();
  const uint16_t* weights = columns.weights.data();
  for (int64_t group = 0; group < columns.groups; ++group) {
    __m256i sum0 = bias, sum1 = bias;
    for (int t = 0; t < taps; t += per_load) {
      const uint8_t* in = row + 3 * t;
      const __m256i pixels0 = load_halves(in + offsets[0], in + offsets[1]);
      const __m256i pixels1 = load_halves(in + offsets[2], in + offsets[3]);
      __m256i shuffle0 = load(shuffles), shuffle1 = load(shuffles + 32);
      for (int i = 0; i < per_load && t + i < taps; ++i, weights += Columns::kLineGroup) {
        const __m256i tap0 = _mm256_shuffle_epi8(pixels0, shuffle0);
        const __m256i tap1 = _mm256_shuffle_epi8(pixels1, shuffle1);
        sum0 = _mm256_add_epi16(sum0, _mm256_mulhi_epu16(tap0, load(weights)));
        sum1 = _mm256_add_epi16(sum1, _mm256_mulhi_epu16(tap1, load(weights + 16)));
        shuffle0 = _mm256_add_epi8(shuffle0, next_tap);
        shuffle1 = _mm256_add_epi8(shuffle1, next_tap);
      }
    }
    store(line, _mm256_and_si256(sum0, mask));
    store(line + 16, _mm256_and_si256(sum1, mask));
    offsets += 4;
    shuffles += 64;
    line += Columns::kLineGroup;
  }
}

STOKER_AVX2 void horizontal(const uint8_t* row, const Columns& columns, uint16_t* line) {
  const int taps = columns.filter.taps, per_load = columns.taps_per_load;
  if (per_load == 0) return portable_resampling().horizontal(row, columns, line);
  if (taps == 2 && per_load >= 2) return horizontal_taps(row, columns, 2, 2, line);
  if (taps == 3 && per_load >= 3) return horizontal_taps(row, columns, 3, 3, line);
  horizontal_taps(row, columns, taps, per_load, line);
}

// Eight pixels of RGB in bytes 0-11 and 16-27.
STOKER_AVX2_INLINE __m256i vertical_group(const uint16_t* const* lines, const uint16_t* weights,
                                          int taps, size_t at) {
  __m256i sum0 = _mm256_set1_epi16(static_cast<short>(128 + tap_bias(taps))), sum1 = sum0;
  for (int t = 0; t < taps; ++t) {
    const __m256i weight = _mm256_set1_epi16(static_cast<short>(weights[t]));
    sum0 = _mm256_add_epi16(sum0, _mm256_mulhi_epu16(load(lines[t] + at), weight));
    sum1 = _mm256_add_epi16(sum1, _mm256_mulhi_epu16(load(lines[t] + at + 16), weight));
  }
  const __m256i bytes = _mm256_packus_epi16(_mm256_srli_epi16(sum0, 8), _mm256_srli_epi16(sum1, 8));
  const __m256i drop_fourth =
      _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,  //
                       0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  return _mm256_shuffle_epi8(bytes, drop_fourth);
}

// Writes 28 bytes, of which the first 24 count.
STOKER_AVX2_INLINE void store_group(uint8_t* out, __m256i group) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(group));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 12), _mm256_extracti128_si256(group, 1));
}

STOKER_AVX2_INLINE void vertical_taps(const uint16_t* const* lines, const uint16_t* weights,
                                      int taps, int64_t width, uint8_t* out) {
  size_t at = 0;
  for (; width > Columns::kGroup + 1; width -= Columns::kGroup) {
    store_group(out, vertical_group(lines, weights, taps, at));
    at += Columns::kLineGroup;
    out += 3 * Columns::kGroup;
  }
  // What is left (one or two groups) must not write behind the row.
  uint8_t rest[6 * Columns::kGroup + 4];
  store_group(rest, vertical_group(lines, weights, taps, at));
  if (width > Columns::kGroup) {
    store_group(rest + 3 * Columns::kGroup,
                vertical_group(lines, weights, taps, at + Columns::kLineGroup));
  }
  std::memcpy(out, rest, static_cast<size_t>(width) * 3);
}

STOKER_AVX2 void vertical(const uint16_t* const* lines, const uint16_t* weights, int taps,
                          int64_t width, uint8_t* out) {
  if (taps > kFewTaps) return portable_resampling().vertical(lines, weights, taps, width, out);
  if (taps == 2) return vertical_taps(lines, weights, 2, width, out);
  if (taps == 3) return vertical_taps(lines, weights, 3, width, out);
  vertical_taps(lines, weights, taps, width, out);
}

}  // namespace

Resampling avx2_resampling() { return {horizontal, vertical}; }

}  // namespace stoker

#endif
