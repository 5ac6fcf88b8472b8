#pragma once

#include <isa-l.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "io/core/system/memory.h"

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

// A CRC as LevelDB's and TensorFlow's files keep it: a CRC of bytes that hold plain CRCs would be
// degenerate. And back.
constexpr uint32_t masked_crc32c(uint32_t sum) { return std::rotr(sum, 15) + 0xa282ead8u; }
constexpr uint32_t unmasked_crc32c(uint32_t masked) { return std::rotl(masked - 0xa282ead8u, 15); }

// The CRC-32C of two neighbours, from the CRC of each and the length of the second in bytes. The
// bytes are not looked at, so pieces may be summed by different threads, in any order. Takes time
// by the logarithm of the length. Any thread.
uint32_t crc32c_combine(uint32_t first, uint32_t second, uint64_t second_bytes);

// Copies `bytes` to `to` and returns their CRC: each block is summed while it passes through the
// cache, and written past it where the CPU can, so that the whole costs little more than memcpy.
// The ranges must not overlap. The bytes are visible to whoever synchronises with this thread
// afterwards, as with memcpy. Any thread.
uint32_t copy_crc32c(uint8_t* to, Bytes bytes);

}  // namespace stoker
