#pragma once

#include <cstddef>
#include <cstdint>

#include "io/core/memory.h"

// CRC-32C (Castagnoli; RFC 3720, appendix B.4: the check of "123456789" is 0xe3069283). Any thread.

namespace stoker {

// Of `bytes`, continuing from the CRC of what stands before them.
uint32_t crc32c(Bytes bytes, uint32_t before = 0);

// Of two neighbours, from the CRC of each and the length of the second.
uint32_t crc32c_combine(uint32_t first, uint32_t second, uint64_t second_bytes);

// Copies `bytes` to `to` and returns their CRC: each block is summed while it passes through the
// cache, and written past it where the CPU can, so that the whole costs little more than memcpy.
uint32_t copy_crc32c(uint8_t* to, Bytes bytes);

}  // namespace stoker
