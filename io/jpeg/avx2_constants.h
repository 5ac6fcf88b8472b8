#pragma once

#include <immintrin.h>

#include <cstdint>

// For files whose functions use AVX2 and BMI2 and nothing newer; the rest of the program runs on
// every x86-64. A function with one of these attributes may only be called where the processor has
// both; BaselineDecoder::create() asks. Pure functions; any thread.

#define STOKER_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define STOKER_AVX2_INLINE __attribute__((target("avx2,bmi,bmi2"), always_inline)) inline

namespace stoker {

// A reference to `constants` that hides their values from the compiler. Otherwise GCC would make
// each of them out of two to four instructions where one operand will do.
template <class Constants>
inline const Constants& opaque(const Constants& constants) {
  const Constants* hidden = &constants;
  asm("" : "+r"(hidden));
  return *hidden;
}

// Sixteen 16-bit constants, mostly eight pairs (a, b) for pmaddwd.
struct alignas(32) Words {
  int16_t values[16] = {};
};

constexpr Words pairs(int a, int b, int a_high, int b_high) {
  Words out;
  for (int i = 0; i < 16; ++i) {
    out.values[i] = static_cast<int16_t>(i < 8 ? (i % 2 ? b : a) : (i % 2 ? b_high : a_high));
  }
  return out;
}
constexpr Words pairs(int a, int b) { return pairs(a, b, a, b); }

// The 32 bytes of a constant.
template <class Register>
STOKER_AVX2_INLINE __m256i get(const Register& constant) {
  static_assert(sizeof constant == 32 && alignof(Register) == 32);
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(&constant));
}

}  // namespace stoker
