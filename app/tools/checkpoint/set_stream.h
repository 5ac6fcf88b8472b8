#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/sets/set_store.h"

namespace stoker {

// Gives the bytes of a data file from `offset` on, as many as `out` has room for. The header of the
// file is put in afterwards. Called by several threads at once, each for another place; where the
// tier takes objects, in order within a file.
using FileBytes = std::function<void(size_t file, uint64_t offset, std::span<uint8_t> out)>;

// How a stream is written. A value.
struct SetStreamOptions {
  int64_t threads = 1;
  // Called after each piece, by the thread that wrote it, with the bytes that are written so far;
  // may be empty.
  std::function<void(uint64_t bytes)> progress = {};
};

// Writes a set whose bytes are made, or read, piece by piece, so that it may be larger than memory:
// by the protocol of every save (io/checkpoint/sets/file_set_writer.h), past the page cache where
// the tier can, and with the sums of what was written. When it returns, the set is committed; after
// an exception it is not there. `store` is open for writing. `manifest` has what is known of the
// set beside its layout; the rest is put in here. Holds kChunkBytes for each thread.
// IoError; what `bytes` throws.
void write_set(SetStore& store, const SetLayout& layout, Manifest manifest, const FileBytes& bytes,
               const SetStreamOptions& options);

}  // namespace stoker
