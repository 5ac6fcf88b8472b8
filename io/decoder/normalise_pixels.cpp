#include "io/decoder/normalise_pixels.h"

#include <bit>
#include <type_traits>

#include "io/decoder/pixels.h"

#if defined(__x86_64__)
#include "io/decoder/avx512.h"
#endif

// Only functions with STOKER_AVX2 may use AVX2: the rest of the program runs on every x86-64.
#define STOKER_AVX2 __attribute__((target("avx2")))

namespace stoker {
namespace {

void put(float value, float* out) { *out = value; }

void put(float value, Bf16* out) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  out->bits = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Normalises the pixels from `first` on.
template <class T>
void normalise_rest(const uint8_t* rgb, int64_t first, int64_t pixels, int64_t plane, T* out) {
  const bool interleaved = plane == kInterleaved;
  for (int64_t i = first; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) {
      put(normalised(rgb[3 * i + c], c), out + (interleaved ? 3 * i + c : i + c * plane));
    }
  }
}

#if defined(__x86_64__)

STOKER_AVX2 inline void store(float* out, __m256 values, bool streamed) {
  streamed ? _mm256_stream_ps(out, values) : _mm256_storeu_ps(out, values);
}

STOKER_AVX2 inline void store(Bf16* out, __m256 values, bool) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
  const __m256i halves = _mm256_srli_epi32(sum, 16);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(packed));
}

STOKER_AVX2 inline __m256 value_of(__m256i levels, __m256 mean, __m256 scale) {
  return _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(levels), mean), scale);
}

// Eight pixels at a time, in two loads of 16 bytes that end with them: each half of a vector holds
// four, and one shuffle spreads the levels of one channel over its 32-bit lanes.
template <class T, bool kStreamed>
STOKER_AVX2 int64_t avx2_planes(const uint8_t* rgb, int64_t pixels, int64_t plane, T* out) {
  __m256i spread[3];
  __m256 mean[3], scale[3];
  for (int c = 0; c < 3; ++c) {
    const __m256i first = _mm256_setr_epi32(0, 3, 6, 9, 4, 7, 10, 13);
    spread[c] = _mm256_or_si256(_mm256_add_epi32(first, _mm256_set1_epi32(c)),
                                _mm256_set1_epi32(static_cast<int>(0x80808000)));
    mean[c] = _mm256_set1_ps(static_cast<float>(kMean[c]));
    scale[c] = _mm256_set1_ps(static_cast<float>(kScale[c]));
  }
  int64_t i = 0;
  for (; i + 8 <= pixels; i += 8) {
    const auto* low = reinterpret_cast<const __m128i*>(rgb + 3 * i);
    const auto* high = reinterpret_cast<const __m128i*>(rgb + 3 * i + 8);
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)),
                                                 _mm_loadu_si128(high), 1);
    for (int c = 0; c < 3; ++c) {
      store(out + c * plane + i, value_of(_mm256_shuffle_epi8(both, spread[c]), mean[c], scale[c]),
            kStreamed);
    }
  }
  return i;
}

// One channel of sixteen pixels, in the lowest bytes of 32-bit lanes.
struct alignas(64) ChannelPlaces {
  uint8_t bytes[64] = {};
};
constexpr ChannelPlaces places_of(int channel) {
  ChannelPlaces places;
  for (int i = 0; i < 16; ++i) places.bytes[4 * i] = static_cast<uint8_t>(3 * i + channel);
  return places;
}
constexpr ChannelPlaces kPlaces[] = {places_of(0), places_of(1), places_of(2)};

// Streams whole cache lines, to which all planes must be aligned.
STOKER_AVX512 int64_t avx512_planes(const uint8_t* rgb, int64_t pixels, int64_t plane, float* out) {
  const int64_t end = pixels / 16 * 16;
  for (int c = 0; c < 3; ++c) {
    const __m512i places = get512(kPlaces[c]);
    const __m512 mean = _mm512_set1_ps(static_cast<float>(kMean[c]));
    const __m512 scale = _mm512_set1_ps(static_cast<float>(kScale[c]));
    for (int64_t i = 0; i < end; i += 16) {
      const __m512i bytes = _mm512_maskz_loadu_epi8(0xffffffffffff, rgb + 3 * i);
      const __m512i levels = _mm512_maskz_permutexvar_epi8(0x1111111111111111, places, bytes);
      const __m512 values = _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(levels), mean), scale);
      _mm512_stream_ps(out + c * plane + i, values);
    }
  }
  return end;
}

// As much as whole vectors hold; says how many pixels. `streamed`: where the alignment allows it.
template <class T>
int64_t planes(const uint8_t* rgb, int64_t pixels, int64_t plane, T* out, bool streamed) {
  if constexpr (std::is_same_v<T, float>) {
    const auto places =
        reinterpret_cast<uintptr_t>(out) | static_cast<uintptr_t>(plane) * sizeof(T);
    if (streamed && places % 64 == 0 && has_avx512()) {
      return avx512_planes(rgb, pixels, plane, out);
    }
    if (streamed && places % 32 == 0) return avx2_planes<T, true>(rgb, pixels, plane, out);
  }
  return avx2_planes<T, false>(rgb, pixels, plane, out);
}

template <class T>
STOKER_AVX2 int64_t avx2_interleaved(const uint8_t* rgb, int64_t pixels, T* out) {
  float means[24], scales[24];
  for (int i = 0; i < 24; ++i) {
    means[i] = static_cast<float>(kMean[i % 3]);
    scales[i] = static_cast<float>(kScale[i % 3]);
  }
  int64_t i = 0;
  for (; i + 8 <= pixels; i += 8) {
    for (int part = 0; part < 24; part += 8) {
      const auto* levels = reinterpret_cast<const __m128i*>(rgb + 3 * i + part);
      store(out + 3 * i + part,
            value_of(_mm256_cvtepu8_epi32(_mm_loadl_epi64(levels)), _mm256_loadu_ps(means + part),
                     _mm256_loadu_ps(scales + part)),
            false);
    }
  }
  return i;
}

#endif

}  // namespace

template <class T>
void normalise_pixels(const uint8_t* rgb, int64_t pixels, int64_t plane, T* out, Store how) {
  int64_t done = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    done = plane == kInterleaved ? avx2_interleaved(rgb, pixels, out)
                                 : planes(rgb, pixels, plane, out, how == Store::streamed);
  }
#endif
  normalise_rest(rgb, done, pixels, plane, out);
}

template void normalise_pixels(const uint8_t*, int64_t, int64_t, float*, Store);
template void normalise_pixels(const uint8_t*, int64_t, int64_t, Bf16*, Store);

}  // namespace stoker
