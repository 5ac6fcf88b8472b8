#pragma once

// GCC's own header makes undefined vectors of themselves (its bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

// For files whose functions use AVX-512 with VBMI and VNNI, which processors have since Ice Lake
// and Zen 4; the rest of the program runs on every x86-64. A function with one of these attributes
// may only be called where has_avx512() says so. Pure functions; any thread.

#define STOKER_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))
#define STOKER_AVX512_INLINE \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni"), always_inline)) inline

namespace stoker {

inline bool has_avx512() {
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
  return false;  // it takes a lane that nobody uses for one that is used
#endif
#endif
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

// The 64 bytes of a constant.
template <class Register>
STOKER_AVX512_INLINE __m512i get512(const Register& constant) {
  static_assert(sizeof constant == 64);
  return _mm512_load_si512(&constant);
}

}  // namespace stoker
