#include "io/decoder/resample/resample.h"

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

STOKER_AVX2_INLINE __m256i load_eighths(const uint8_t* row, const int32_t* offsets) {
  const auto eighth = [row](int32_t offset) STOKER_AVX2 {
    int64_t bytes;
    std::memcpy(&bytes, row + offset, sizeof bytes);
    return bytes;
  };
  return _mm256_setr_epi64x(eighth(offsets[0]), eighth(offsets[1]), eighth(offsets[2]),
                            eighth(offsets[3]));
}

// `tap_pairs` and `form` are constants where the compiler is to make a loop of its own of it.
STOKER_AVX2_INLINE void horizontal_taps(const uint8_t* row, const Columns& columns, int tap_pairs,
                                        Columns::Form form, uint16_t* line) {
  const bool apart = form == Columns::Form::apart;
  // Signed pixels: 128 less, which is 32768 less for the sum.
  const __m256i start = _mm256_set1_epi16(static_cast<short>(0x8000 + columns.bias));
  const __m256i mask = _mm256_set1_epi16(static_cast<short>(columns.mask));
  const __m256i sign = _mm256_set1_epi8(static_cast<char>(0x80));
  const int32_t* offsets = columns.offsets.data();
  const ByteGroup* places = columns.places.data();
  const ByteGroup* weights = columns.weights.data();
  for (int64_t group = 0; group < columns.groups; ++group) {
    __m256i sum[2] = {start, start};
    for (int pair = 0; pair < tap_pairs; ++pair, ++places, ++weights) {
      const uint8_t* in = row + 6 * pair;
      for (int half = 0; half < 2; ++half) {
        const int32_t* from = offsets + (apart ? 4 : 2) * half;
        const __m256i pixels =
            apart ? load_eighths(in, from) : load_halves(in + from[0], in + from[1]);
        const __m256i bytes = _mm256_shuffle_epi8(pixels, load(places->bytes + 32 * half));
        sum[half] = _mm256_add_epi16(
            sum[half],
            _mm256_maddubs_epi16(load(weights->bytes + 32 * half), _mm256_xor_si256(bytes, sign)));
      }
    }
    store(line, _mm256_and_si256(sum[0], mask));
    store(line + 16, _mm256_and_si256(sum[1], mask));
    offsets += apart ? 8 : 4;
    line += Columns::kLineGroup;
  }
}

STOKER_AVX2 void horizontal(const uint8_t* row, const Columns& columns, uint16_t* line) {
  using Form = Columns::Form;
  const int pairs = columns.tap_pairs;
  if (columns.form == Form::sums) return portable_resampling().horizontal(row, columns, line);
  if (columns.form == Form::apart) return horizontal_taps(row, columns, pairs, Form::apart, line);
  if (pairs == 1) return horizontal_taps(row, columns, 1, Form::pairs, line);
  if (pairs == 2) return horizontal_taps(row, columns, 2, Form::pairs, line);
  horizontal_taps(row, columns, pairs, Form::pairs, line);
}

// Eight pixels as R, G, B, 0.
STOKER_AVX2_INLINE __m256i vertical_group(const uint16_t* const* lines, const uint16_t* weights,
                                          int taps, size_t at) {
  __m256i sum0 = _mm256_set1_epi16(static_cast<short>(128 + tap_bias(taps))), sum1 = sum0;
  for (int t = 0; t < taps; ++t) {
    const __m256i weight = _mm256_set1_epi16(static_cast<short>(weights[t]));
    sum0 = _mm256_add_epi16(sum0, _mm256_mulhi_epu16(load(lines[t] + at), weight));
    sum1 = _mm256_add_epi16(sum1, _mm256_mulhi_epu16(load(lines[t] + at + 16), weight));
  }
  return _mm256_packus_epi16(_mm256_srli_epi16(sum0, 8), _mm256_srli_epi16(sum1, 8));
}

// Writes 28 bytes; the first 24 of them count.
STOKER_AVX2_INLINE void store_group(uint8_t* out, __m256i pixels) {
  const __m256i drop_fourth =
      _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,  //
                       0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const __m256i group = _mm256_shuffle_epi8(pixels, drop_fourth);
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
                          const Columns& columns, uint8_t* out, Store store) {
  const int64_t width = columns.width();
  if (taps > kFewTaps)
    return portable_resampling().vertical(lines, weights, taps, columns, out, store);
  if (taps == 2) return vertical_taps(lines, weights, 2, width, out);
  if (taps == 3) return vertical_taps(lines, weights, 3, width, out);
  vertical_taps(lines, weights, taps, width, out);
}

}  // namespace

Resampling avx2_resampling() { return {horizontal, vertical}; }

}  // namespace stoker

#endif
