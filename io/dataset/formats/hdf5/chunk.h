#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "io/core/system/memory.h"
#include "io/dataset/formats/hdf5/layout.h"

namespace stoker {

// The filters that were applied to a chunk, in that order, as one number (ShardPart::packing); 0:
// none. Empty: not what this program undoes: deflate and shuffle, each once at most.
std::optional<uint64_t> hdf5_packing(std::span<const Hdf5FilterUse> filters);

// Whether a chunk that is stored in `stored` bytes can have `unpacked` bytes: at most 1 GiB, and no
// more than deflate gets out of the stored ones. Ask it before memory is taken for the chunk.
bool hdf5_chunk_fits(uint64_t stored, uint64_t unpacked);

// Undoes them: `unpacked` bytes are written to `out`. BadSample(corrupt) where `stored` gives
// another number of bytes, or is damaged. Any thread.
class Hdf5Unpacker {
 public:
  void unpack(Bytes stored, uint64_t packing, size_t unpacked, uint8_t* out);

 private:
  Buffer between_;
};

}  // namespace stoker
