#pragma once

#include <isa-l.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "io/core/memory.h"

namespace stoker {

// CRC-32C (Castagnoli; RFC 3720, appendix B.4: the check of "123456789" is 0xe3069283) of `bytes`,
// continuing from `before`, the CRC of what stands before them: crc32c(b, crc32c(a)) is the CRC of
// a and b together. By ISA-L, which uses the processor's instructions. Any thread.
inline uint32_t crc32c(Bytes bytes, uint32_t before = 0) {
  // ISA-L takes an int, and neither inverts at the start nor at the end.
  constexpr size_t most = size_t{1} << 30;
  uint32_t remainder = ~before;
  while (!bytes.empty()) {
    const Bytes part = bytes.first(std::min(most, bytes.size()));
    remainder =
        crc32_iscsi(const_cast<uint8_t*>(part.data()), static_cast<int>(part.size()), remainder);
    bytes = bytes.subspan(part.size());
  }
  return ~remainder;
}

}  // namespace stoker
