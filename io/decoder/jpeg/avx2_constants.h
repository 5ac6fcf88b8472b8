#pragma once

#include <immintrin.h>

// Constants of vector code, for files whose functions use AVX2 and nothing newer. A function with
// one of these attributes may only be called where the processor has AVX2;
// BaselineDecoder::create() asks. Pure functions; any thread.

#define STOKER_AVX2 __attribute__((target("avx2")))
#define STOKER_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace stoker {

// A reference to `constants` that hides their values from the compiler. Otherwise GCC would make
// each of them out of two to four instructions where one operand will do.
template <class Constants>
inline const Constants& opaque(const Constants& constants) {
  const Constants* hidden = &constants;
  asm("" : "+r"(hidden));
  return *hidden;
}

// The 32 bytes of a constant.
template <class Register>
STOKER_AVX2_INLINE __m256i get(const Register& constant) {
  static_assert(sizeof constant == 32 && alignof(Register) == 32);
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(&constant));
}

}  // namespace stoker
