#include "io/core/system/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stoker {
namespace {

constexpr size_t kSmallPage = 4096;
constexpr size_t kHugePage = 2u << 20;

}  // namespace

HostMemory allocate_huge(size_t bytes, bool touch) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : bytes >= kSmallPage ? kSmallPage : 64;
  const size_t size = rounded_up(bytes == 0 ? 1 : bytes, alignment);
  void* memory = std::aligned_alloc(alignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  if (touch) std::memset(memory, 0, size);
  return {std::shared_ptr<uint8_t>(static_cast<uint8_t*>(memory), std::free), bytes, false};
}

namespace {

#if defined(__x86_64__)

// Shorter blocks stay in the caches, where whoever copies them may still find a use for them.
constexpr size_t kMinStreamed = size_t{32} << 10;
constexpr size_t kVector = 32;
constexpr size_t kPageBytes = 4096;
// The hardware prefetchers follow a stream within its page only: four pages at once are four
// streams, and 128 bytes are the pair of lines that they fetch together.
constexpr size_t kPages = 4;
constexpr size_t kStep = 128;

// Only this function may use AVX2: the rest of the program runs on every x86-64. `to` is aligned to
// kVector. Returns how much was copied; what is left is shorter than a vector.
__attribute__((target("avx2"))) size_t copy_avx2(uint8_t* to, const uint8_t* from, size_t bytes,
                                                 const uint8_t* next) {
  const auto move = [ to, from ](size_t at) __attribute__((target("avx2"), always_inline)) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
  };
  size_t done = 0;
  for (; done + kPages * kPageBytes <= bytes; done += kPages * kPageBytes) {
    for (size_t line = 0; line < kPageBytes; line += kStep) {
      for (size_t page = 0; page < kPages; ++page) {
        const size_t at = done + page * kPageBytes + line;
        for (size_t i = 0; i < kStep; i += kVector) move(at + i);
        if (next == nullptr) continue;
        _mm_prefetch(reinterpret_cast<const char*>(next) + at, _MM_HINT_T1);
        _mm_prefetch(reinterpret_cast<const char*>(next) + at + kStep / 2, _MM_HINT_T1);
      }
    }
  }
  for (; done + kVector <= bytes; done += kVector) move(done);
  // Streaming stores are not ordered with the release that hands the batch over.
  _mm_sfence();
  return done;
}

#endif

}  // namespace

void stream_copy(uint8_t* to, const uint8_t* from, size_t bytes, const uint8_t* next) {
#if defined(__x86_64__)
  if (bytes >= kMinStreamed && __builtin_cpu_supports("avx2")) {
    const size_t head = -reinterpret_cast<uintptr_t>(to) % kVector;
    std::memcpy(to, from, head);
    const size_t done = head + copy_avx2(to + head, from + head, bytes - head, next);
    std::memcpy(to + done, from + done, bytes - done);
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace stoker
