#pragma once

#include <cstddef>
#include <cstdint>

#include "io/core/crc32c.h"  // IWYU pragma: export
#include "io/core/memory.h"

// What checkpoints need beside the CRC-32C of io/core. Any thread.

namespace stoker {

// The CRC-32C of two neighbours, from the CRC of each and the length of the second.
uint32_t crc32c_combine(uint32_t first, uint32_t second, uint64_t second_bytes);

// Copies `bytes` to `to` and returns their CRC: each block is summed while it passes through the
// cache, and written past it where the CPU can, so that the whole costs little more than memcpy.
uint32_t copy_crc32c(uint8_t* to, Bytes bytes);

}  // namespace stoker
