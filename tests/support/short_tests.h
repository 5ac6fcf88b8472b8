#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>

// What keeps tests short where a sanitizer makes the processor's work dear.

namespace stoker {

// A test that walks through every case of something, such as each bit of a file, looks at one in
// stride(n): 1 with STOKER_LONG=1, else n; 7 n under a sanitizer, which is that much slower.
inline size_t stride(size_t each) {
  if (std::getenv("STOKER_LONG") != nullptr) return 1;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 7 * each;
#else
  return each;
#endif
}

// Any bytes, the same for the same seed; every 4 KiB of them differ from all others. By copies,
// which cost a sanitizer little: bytes that are drawn one by one cost it seconds.
inline void fill_any(void* to, size_t count, uint64_t seed) {
  constexpr size_t kBlock = 4096;
  auto* const bytes = static_cast<uint8_t*>(to);
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < std::min(count, kBlock); i += 8) {
    const uint64_t value = random();
    std::memcpy(bytes + i, &value, std::min<size_t>(8, count - i));
  }
  for (size_t i = kBlock; i < count; i += kBlock) {
    std::memcpy(bytes + i, bytes, std::min(kBlock, count - i));
    const uint64_t number = random() ^ i;
    std::memcpy(bytes + i, &number, std::min<size_t>(8, count - i));
  }
}

}  // namespace stoker
