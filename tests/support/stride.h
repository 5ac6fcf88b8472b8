#pragma once

#include <cstddef>
#include <cstdlib>

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

}  // namespace stoker
