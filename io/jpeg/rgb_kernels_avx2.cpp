#include "io/jpeg/rgb_rows.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "io/decoder/avx512.h"
#include "io/jpeg/avx2_constants.h"

// A chroma line has, for each group of 32 pixels, four registers of eight pairs (Cb, Cr), each in
// its near and then in its far form. They are those of the even pixels 0-6 and 16-22, the odd ones
// 1-7 and 17-23, then 8-14 and 24-30, and 9-15 and 25-31. So no shuffle but the interleaving's is
// needed between the filter and the RGB bytes, and no shuffle across the halves of a register.

namespace stoker {
namespace {

constexpr size_t kFar = 16;   // from a register's near form to its far form, in 16-bit values
constexpr size_t kStep = 32;  // to the next register

STOKER_AVX2_INLINE __m256i load(const void* at) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

// 32 bytes of constants.
struct alignas(32) Register {
  int8_t values[32] = {};
};

// The same in both halves, as for shuffles; -1 gives zero.
constexpr Register twice(const int (&half)[16]) {
  Register out;
  for (int i = 0; i < 32; ++i) out.values[i] = static_cast<int8_t>(half[i % 16]);
  return out;
}

struct Constants {
  Words once = pairs(3 | 1 << 8, 3 | 1 << 8), thrice = pairs(9 | 3 << 8, 9 | 3 << 8);
  // Interleaved samples become pairs of neighbours, by turns of Cb and of Cr: pairs of four samples
  // from the second one on, and of every second sample with itself.
  Register with_previous = twice({2, 0, 3, 1, 4, 2, 5, 3, 6, 4, 7, 5, 8, 6, 9, 7});
  Register with_next = twice({2, 4, 3, 5, 4, 6, 5, 7, 6, 8, 7, 9, 8, 10, 9, 11});
  Register alone_even = twice({0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13});
  Register alone_odd = twice({2, 2, 3, 3, 6, 6, 7, 7, 10, 10, 11, 11, 14, 14, 15, 15});

  // jdcolor.c's tables with 16 fractional bits: for all samples 1.772 Cb and 1.402 Cr have the same
  // values with 14, green needs all bits.
  Words blue_red = pairs(29033, 22971);
  Words green = pairs(-11277, -23401), green_half = pairs(-1 << 15, 0);

  Register luma_even0 = twice({0, -1, 0, -1, 2, -1, 2, -1, 4, -1, 4, -1, 6, -1, 6, -1});
  Register luma_odd0 = twice({1, -1, 1, -1, 3, -1, 3, -1, 5, -1, 5, -1, 7, -1, 7, -1});
  Register luma_even1 = twice({8, -1, 8, -1, 10, -1, 10, -1, 12, -1, 12, -1, 14, -1, 14, -1});
  Register luma_odd1 = twice({9, -1, 9, -1, 11, -1, 11, -1, 13, -1, 13, -1, 15, -1, 15, -1});

  // 16 pixels to 48 bytes. Blue and red come as those of pixels 0, 2, 4, 6, 1, 3, 5, 7.
  Register part0_blue_red = twice({1, -1, 0, 9, -1, 8, 3, -1, 2, 11, -1, 10, 5, -1, 4, 13});
  Register part0_green = twice({-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1});
  Register part1_blue_red0 = twice({-1, 12, 7, -1, 6, 15, -1, 14, -1, -1, -1, -1, -1, -1, -1, -1});
  Register part1_blue_red1 = twice({-1, -1, -1, -1, -1, -1, -1, -1, 1, -1, 0, 9, -1, 8, 3, -1});
  Register part1_green = twice({5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10});
  Register part2_blue_red = twice({2, 11, -1, 10, 5, -1, 4, 13, -1, 12, 7, -1, 6, 15, -1, 14});
  Register part2_green = twice({-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1});
  Register part0_gray = twice({0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5});
  Register part1_gray = twice({5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10});
  Register part2_gray = twice({10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15});
};
constexpr Constants kConstants;

STOKER_AVX2_INLINE __m256i shuffled(__m256i bytes, const Register& order) {
  return _mm256_shuffle_epi8(bytes, get(order));
}

// What makes both forms of a line; in registers, because the stores would have it loaded anew.
struct Forms {
  __m256i once, thrice;
};

STOKER_AVX2_INLINE Forms forms(const Constants& k) { return {get(k.once), get(k.thrice)}; }

// The 16-bit sums of three parts of each sample and one of its neighbour.
STOKER_AVX2_INLINE void store_line(const Forms& forms, __m256i sample_pairs, __m256i offset,
                                   int16_t* line) {
  const __m256i thrice = _mm256_maddubs_epi16(sample_pairs, forms.thrice);
  const __m256i once = _mm256_maddubs_epi16(sample_pairs, forms.once);
  _mm256_store_si256(reinterpret_cast<__m256i*>(line), _mm256_add_epi16(thrice, offset));
  _mm256_store_si256(reinterpret_cast<__m256i*>(line + kFar), once);
}

// Eight samples of both components from `x` on, interleaved, and in the upper half those from x
// + 8.
STOKER_AVX2_INLINE __m256i load_window(const ChromaRow& row, std::ptrdiff_t x) {
  const auto halves = [x](const uint8_t* samples)
      __attribute__((target("avx2,bmi,bmi2"), always_inline)) {
    const auto* low = reinterpret_cast<const __m128i*>(samples + x);
    const auto* high = reinterpret_cast<const __m128i*>(samples + x + 8);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)),
                                   _mm_loadu_si128(high), 1);
  };
  return _mm256_unpacklo_epi8(halves(row.cb), halves(row.cr));
}

// Where sample `x` of a row with half the pixels lies in a line.
size_t position(size_t x) {
  return x / 16 * kGroupValues + x / 4 % 2 * 2 * kStep + x / 8 % 2 * (kFar / 2) + x % 4 * 2;
}

// An edge's sample is its own neighbour.
void set_edge(const ChromaRow& row, size_t x, int rounding, int16_t* at) {
  const uint8_t samples[2] = {row.cb[x], row.cr[x]};
  for (size_t c = 0; c < 2; ++c) {
    at[c] = static_cast<int16_t>(12 * samples[c] + kChromaCenter + rounding);
    at[c + kFar] = static_cast<int16_t>(4 * samples[c]);
  }
}

STOKER_AVX2 void filter_half(const ChromaRow& row, ChromaRounding rounding, size_t first_group,
                             size_t end_group, int16_t* line) {
  const Constants& k = opaque(kConstants);
  const __m256i even = _mm256_set1_epi16(static_cast<short>(kChromaCenter + rounding.even));
  const __m256i odd = _mm256_set1_epi16(static_cast<short>(kChromaCenter + rounding.odd));
  const __m256i with_previous = get(k.with_previous), with_next = get(k.with_next);
  const Forms both = forms(k);
  int16_t* at = line + first_group * kGroupValues;
  for (size_t group = first_group; group < end_group; ++group) {
    for (size_t half = 0; half < 2; ++half, at += 2 * kStep) {
      const __m256i window =
          load_window(row, static_cast<std::ptrdiff_t>(group * kGroupPixels / 2 + 4 * half) - 1);
      store_line(both, _mm256_shuffle_epi8(window, with_previous), even, at);
      store_line(both, _mm256_shuffle_epi8(window, with_next), odd, at + kStep);
    }
  }
  if (first_group == 0) set_edge(row, 0, rounding.even, line);
  const size_t last = row.width - 1;
  if (last < end_group * kGroupPixels / 2) {
    set_edge(row, last, rounding.odd, line + position(last) + kStep);
  }
}

STOKER_AVX2 void spread(const ChromaRow& row, size_t first_group, size_t end_group, int16_t* line) {
  const Constants& k = opaque(kConstants);
  const __m256i offset = _mm256_set1_epi16(kChromaCenter);
  const Forms both = forms(k);
  int16_t* at = line + first_group * kGroupValues;
  for (size_t group = first_group; group < end_group; ++group) {
    const __m256i cb = load(row.cb + group * kGroupPixels);
    const __m256i cr = load(row.cr + group * kGroupPixels);
    for (const __m256i& half : {_mm256_unpacklo_epi8(cb, cr), _mm256_unpackhi_epi8(cb, cr)}) {
      store_line(both, shuffled(half, k.alone_even), offset, at);
      store_line(both, shuffled(half, k.alone_odd), offset, at + kStep);
      at += 2 * kStep;
    }
  }
}

// Twice (sample - 128), as pairs.
STOKER_AVX2_INLINE __m256i chroma(const int16_t* near, const int16_t* far) {
  const __m256i samples = _mm256_srai_epi16(_mm256_add_epi16(load(near), load(far + kFar)), 4);
  return _mm256_add_epi16(samples, samples);
}

// What luma adds up to with: (blue, red) of the eight pixels.
STOKER_AVX2_INLINE __m256i blue_red(const Constants& k, __m256i chroma, __m256i luma,
                                    const Register& pixels) {
  return _mm256_add_epi16(_mm256_mulhrs_epi16(chroma, get(k.blue_red)), shuffled(luma, pixels));
}

STOKER_AVX2_INLINE __m256i green(const Constants& k, __m256i chroma) {
  return _mm256_add_epi32(_mm256_madd_epi16(chroma, get(k.green)), get(k.green_half));
}

// The upper halves, in the order of the pixels.
STOKER_AVX2_INLINE __m256i green(const Constants& k, __m256i even, __m256i odd, __m256i luma) {
  const __m256i sums =
      _mm256_blend_epi16(_mm256_srli_epi32(green(k, even), 16), green(k, odd), 0xaa);
  return _mm256_add_epi16(sums, luma);
}

STOKER_AVX2_INLINE void store_halves(__m256i halves, uint8_t* low, uint8_t* high) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(low), _mm256_castsi256_si128(halves));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(high), _mm256_extracti128_si256(halves, 1));
}

// blue_red0 has the first eight pixels of each half, blue_red1 the others.
STOKER_AVX2_INLINE void store_rgb(const Constants& k, __m256i blue_red0, __m256i blue_red1,
                                  __m256i green, uint8_t* rgb) {
  const __m256i part0 =
      _mm256_or_si256(shuffled(blue_red0, k.part0_blue_red), shuffled(green, k.part0_green));
  const __m256i part1 = _mm256_or_si256(
      _mm256_or_si256(shuffled(blue_red0, k.part1_blue_red0), shuffled(green, k.part1_green)),
      shuffled(blue_red1, k.part1_blue_red1));
  const __m256i part2 =
      _mm256_or_si256(shuffled(blue_red1, k.part2_blue_red), shuffled(green, k.part2_green));
  store_halves(part0, rgb, rgb + 48);
  store_halves(part1, rgb + 16, rgb + 64);
  store_halves(part2, rgb + 32, rgb + 80);
}

void filter_chroma(ChromaSampling sampling, const ChromaRow& row, size_t first_group,
                   size_t end_group, int16_t* line) {
  if (sampling == ChromaSampling::s444) return spread(row, first_group, end_group, line);
  filter_half(row, chroma_rounding(sampling), first_group, end_group, line);
}

STOKER_AVX2 void ycc_to_rgb(const uint8_t* luma, const int16_t* near, const int16_t* far,
                            size_t first_group, size_t end_group, uint8_t* rgb) {
  const Constants& k = opaque(kConstants);
  const __m256i zero = _mm256_setzero_si256();
  for (size_t group = first_group; group < end_group; ++group) {
    const int16_t *a = near + group * kGroupValues, *b = far + group * kGroupValues;
    const __m256i y = load(luma + group * kGroupPixels);
    const __m256i even0 = chroma(a, b), odd0 = chroma(a + kStep, b + kStep);
    const __m256i blue_red0 =
        _mm256_packus_epi16(blue_red(k, even0, y, k.luma_even0), blue_red(k, odd0, y, k.luma_odd0));
    const __m256i green0 = green(k, even0, odd0, _mm256_unpacklo_epi8(y, zero));
    const __m256i even1 = chroma(a + 2 * kStep, b + 2 * kStep);
    const __m256i odd1 = chroma(a + 3 * kStep, b + 3 * kStep);
    const __m256i blue_red1 =
        _mm256_packus_epi16(blue_red(k, even1, y, k.luma_even1), blue_red(k, odd1, y, k.luma_odd1));
    const __m256i green1 = green(k, even1, odd1, _mm256_unpackhi_epi8(y, zero));
    store_rgb(k, blue_red0, blue_red1, _mm256_packus_epi16(green0, green1),
              rgb + group * 3 * kGroupPixels);
  }
}

STOKER_AVX2 void gray_to_rgb(const uint8_t* luma, size_t first_group, size_t end_group,
                             uint8_t* rgb) {
  const Constants& k = opaque(kConstants);
  for (size_t group = first_group; group < end_group; ++group) {
    const __m256i y = load(luma + group * kGroupPixels);
    uint8_t* at = rgb + group * 3 * kGroupPixels;
    store_halves(shuffled(y, k.part0_gray), at, at + 48);
    store_halves(shuffled(y, k.part1_gray), at + 16, at + 64);
    store_halves(shuffled(y, k.part2_gray), at + 32, at + 80);
  }
}

}  // namespace

RgbKernels avx2_rgb_kernels() { return {filter_chroma, ycc_to_rgb, gray_to_rgb}; }

std::vector<RgbKernels> usable_rgb_kernels() {
  std::vector<RgbKernels> usable{avx2_rgb_kernels()};
  if (has_avx512()) usable.push_back(avx512_rgb_kernels());
  return usable;
}

RgbKernels best_rgb_kernels() { return usable_rgb_kernels().back(); }

}  // namespace stoker

#endif
