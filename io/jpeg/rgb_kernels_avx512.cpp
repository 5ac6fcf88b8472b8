#include "io/jpeg/rgb_rows.h"

#if defined(__x86_64__)

#include <array>

#include "io/decoder/avx512.h"

// A chroma line has, for each group of 32 pixels, two registers of sixteen pairs (Cb, Cr), each in
// its near and then in its far form: those of the even pixels, and of the odd ones. All bytes get
// to their places by permutations of whole registers.

namespace stoker {
namespace {

constexpr size_t kFar = 32;  // from a register's near form to its far form, in 16-bit values
constexpr size_t kOdd = 64;  // to the odd pixels' register

struct alignas(64) Places {
  std::array<uint8_t, 64> bytes{};
};

// Where the samples of both components lie in a register: Cb in the lower half, Cr in the upper.
// Pairs of the samples at first + i * step and of those `to_neighbour` further on.
constexpr Places sample_pairs(int first, int step, int to_neighbour) {
  Places places;
  for (int i = 0; i < 16; ++i) {
    for (int byte = 0; byte < 4; ++byte) {
      places.bytes[static_cast<size_t>(4 * i + byte)] =
          static_cast<uint8_t>(first + i * step + byte / 2 * 32 + byte % 2 * to_neighbour);
    }
  }
  return places;
}

// Luma of every second pixel, for blue and red.
constexpr Places luma_pairs(size_t first) {
  Places places;
  for (size_t i = 0; i < 64; ++i) places.bytes[i] = static_cast<uint8_t>(first + i / 4 * 2);
  return places;
}

// Packing puts eight pixels into 16 bytes: the even ones' blue and red, then the odd ones'.
constexpr size_t blue_of(size_t pixel) {
  return pixel / 8 * 16 + pixel % 2 * 8 + pixel % 8 / 2 * 2;
}
// And green of eight pixels into the first half of 16 bytes.
constexpr size_t green_of(size_t pixel) { return pixel / 8 * 16 + pixel % 8; }

// Bytes [first, first + 64) of a group's RGB.
struct Interleaving {
  Places blue_red, green, gray;
  uint64_t is_green = 0;
};
constexpr Interleaving interleaving(size_t first) {
  Interleaving out;
  for (size_t i = 0; i < 64 && first + i < 3 * kGroupPixels; ++i) {
    const size_t pixel = (first + i) / 3, channel = (first + i) % 3;
    out.blue_red.bytes[i] = static_cast<uint8_t>(blue_of(pixel) + (channel == 0 ? 1 : 0));
    out.green.bytes[i] = static_cast<uint8_t>(green_of(pixel));
    out.gray.bytes[i] = static_cast<uint8_t>(pixel);
    if (channel == 1) out.is_green |= uint64_t{1} << i;
  }
  return out;
}

struct Filter {
  Places even, odd;
  size_t group_samples;
  std::ptrdiff_t first;  // sample of a group's register
};

struct Constants {
  // With the sample before, and with the one behind it; each alone.
  Filter half{sample_pairs(1, 1, -1), sample_pairs(1, 1, 1), kGroupPixels / 2, -1};
  Filter alone{sample_pairs(0, 2, 0), sample_pairs(1, 2, 0), kGroupPixels, 0};
  Places luma_even = luma_pairs(0), luma_odd = luma_pairs(1);
  Interleaving rgb0 = interleaving(0), rgb64 = interleaving(64);
};
constexpr Constants kConstants;

STOKER_AVX512_INLINE __m512i pairs(int a, int b) {
  return _mm512_set1_epi32(static_cast<int>(static_cast<uint32_t>(b) << 16 | (a & 0xffff)));
}

STOKER_AVX512_INLINE __m256i load_half(const uint8_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

STOKER_AVX512_INLINE void store_forms(__m512i sample_pairs, __m512i offset, int16_t* line) {
  const __m512i thrice = _mm512_maddubs_epi16(sample_pairs, pairs(9 | 3 << 8, 9 | 3 << 8));
  const __m512i once = _mm512_maddubs_epi16(sample_pairs, pairs(3 | 1 << 8, 3 | 1 << 8));
  _mm512_store_si512(line, _mm512_add_epi16(thrice, offset));
  _mm512_store_si512(line + kFar, once);
}

// An edge's sample is its own neighbour.
void set_edge(const ChromaRow& row, size_t x, int rounding, int16_t* line) {
  const uint8_t samples[2] = {row.cb[x], row.cr[x]};
  int16_t* const at = line + x / 16 * kGroupValues + x % 16 * 2;
  for (size_t c = 0; c < 2; ++c) {
    at[c] = static_cast<int16_t>(12 * samples[c] + kChromaCenter + rounding);
    at[c + kFar] = static_cast<int16_t>(4 * samples[c]);
  }
}

STOKER_AVX512 void filter_chroma(ChromaSampling sampling, const ChromaRow& row, size_t first_group,
                                 size_t end_group, int16_t* line) {
  const bool alone = sampling == ChromaSampling::s444;
  const Filter& filter = alone ? kConstants.alone : kConstants.half;
  const ChromaRounding rounding = chroma_rounding(sampling);
  const __m512i even_offset = _mm512_set1_epi16(static_cast<short>(kChromaCenter + rounding.even));
  const __m512i odd_offset = _mm512_set1_epi16(static_cast<short>(kChromaCenter + rounding.odd));
  const __m512i even = get512(filter.even), odd = get512(filter.odd);
  for (size_t group = first_group; group < end_group; ++group) {
    const std::ptrdiff_t x =
        static_cast<std::ptrdiff_t>(group * filter.group_samples) + filter.first;
    const __m512i samples =
        _mm512_inserti64x4(_mm512_castsi256_si512(load_half(row.cb + x)), load_half(row.cr + x), 1);
    int16_t* const at = line + group * kGroupValues;
    store_forms(_mm512_permutexvar_epi8(even, samples), even_offset, at);
    store_forms(_mm512_permutexvar_epi8(odd, samples), odd_offset, at + kOdd);
  }
  if (alone) return;
  if (first_group == 0) set_edge(row, 0, rounding.even, line);
  const size_t last = row.width - 1;
  if (last < end_group * kGroupPixels / 2) set_edge(row, last, rounding.odd, line + kOdd);
}

// Twice (sample - 128), as pairs.
STOKER_AVX512_INLINE __m512i chroma(const int16_t* near, const int16_t* far) {
  const __m512i sum = _mm512_add_epi16(_mm512_load_si512(near), _mm512_load_si512(far + kFar));
  const __m512i samples = _mm512_srai_epi16(sum, 4);
  return _mm512_add_epi16(samples, samples);
}

// With luma: (blue, red) of every second pixel.
STOKER_AVX512_INLINE __m512i blue_red(__m512i chroma, __m512i luma, const Places& pixels) {
  return _mm512_add_epi16(_mm512_mulhrs_epi16(chroma, pairs(29033, 22971)),
                          _mm512_maskz_permutexvar_epi8(0x5555555555555555, get512(pixels), luma));
}

STOKER_AVX512_INLINE __m512i green(__m512i chroma) {
  return _mm512_dpwssd_epi32(pairs(-1 << 15, 0), chroma, pairs(-11277, -23401));
}

STOKER_AVX512_INLINE __m512i interleaved(const Interleaving& order, __m512i blue_red,
                                         __m512i green) {
  return _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(get512(order.blue_red), blue_red),
                                      order.is_green, get512(order.green), green);
}

STOKER_AVX512_INLINE void store_rgb(__m512i first, __m512i rest, uint8_t* rgb) {
  _mm512_storeu_si512(rgb, first);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(rgb + 64), _mm512_castsi512_si256(rest));
}

STOKER_AVX512 void ycc_to_rgb(const uint8_t* luma, const int16_t* near, const int16_t* far,
                              size_t first_group, size_t end_group, uint8_t* rgb) {
  const Constants& k = kConstants;
  for (size_t group = first_group; group < end_group; ++group) {
    const int16_t *a = near + group * kGroupValues, *b = far + group * kGroupValues;
    const __m256i y = load_half(luma + group * kGroupPixels);
    const __m512i both = _mm512_castsi256_si512(y);
    const __m512i even = chroma(a, b), odd = chroma(a + kOdd, b + kOdd);
    const __m512i colours =
        _mm512_packus_epi16(blue_red(even, both, k.luma_even), blue_red(odd, both, k.luma_odd));
    // The upper halves, in the order of the pixels.
    const __m512i sums =
        _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(green(even), 16), green(odd));
    const __m512i greens = _mm512_add_epi16(sums, _mm512_cvtepu8_epi16(y));
    const __m512i packed = _mm512_packus_epi16(greens, greens);
    store_rgb(interleaved(k.rgb0, colours, packed), interleaved(k.rgb64, colours, packed),
              rgb + group * 3 * kGroupPixels);
  }
}

STOKER_AVX512 void gray_to_rgb(const uint8_t* luma, size_t first_group, size_t end_group,
                               uint8_t* rgb) {
  const __m512i first = get512(kConstants.rgb0.gray), rest = get512(kConstants.rgb64.gray);
  for (size_t group = first_group; group < end_group; ++group) {
    const __m512i y = _mm512_castsi256_si512(load_half(luma + group * kGroupPixels));
    store_rgb(_mm512_permutexvar_epi8(first, y), _mm512_permutexvar_epi8(rest, y),
              rgb + group * 3 * kGroupPixels);
  }
}

}  // namespace

RgbKernels avx512_rgb_kernels() { return {filter_chroma, ycc_to_rgb, gray_to_rgb}; }

}  // namespace stoker

#endif
