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

// Whether a chunk that lies in so many bytes can be as large as that: 1 GiB at most, and no more
// than deflate gets out of them. To be asked before memory is taken for it.
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
