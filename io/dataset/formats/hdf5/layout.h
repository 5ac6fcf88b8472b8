#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/system/memory.h"
#include "io/dataset/formats/hdf5/protocol.h"
#include "io/dataset/shards/shard_index.h"

namespace stoker {

// A chunk as it lies in the file. A value.
struct Hdf5Chunk {
  uint64_t address = 0;
  uint64_t bytes = 0;    // 0: it was never written
  uint64_t skipped = 0;  // a bit for each filter that was not applied
};

// A filter of a data set. A value.
struct Hdf5FilterUse {
  Hdf5Filter filter{};
  uint64_t element_bytes = 0;  // of shuffle
};

// Where the numbers of a data set lie. A value.
struct Hdf5Array {
  char kind = 'u';  // as NumPy has it: 'u' unsigned, 'i' whole, 'f' floating-point numbers
  uint64_t element_bytes = 0;
  std::vector<uint64_t> shape;
  std::vector<Hdf5FilterUse> filters;  // in the order in which they were applied
  // 0: it lies in one piece, which is the only one of `chunks`. Otherwise the chunks follow each
  // other along the first axis, and each has this many of its rows and all of the other axes.
  uint64_t chunk_rows = 0;
  std::vector<Hdf5Chunk> chunks;
};

// Where the samples of an HDF5 file lie, as libhdf5 found it. A value.
struct Hdf5Layout {
  Hdf5Form form{};
  Hdf5Array images;
  std::vector<uint64_t> offsets;  // of form `encoded`: one more than samples
  std::vector<int64_t> labels;    // one for each sample, or empty
  uint64_t key_width = 0;
  std::string keys;  // padded by zeros to that width, or empty
  // What follows a sample's own bytes, one after another: with form `file` all of these arrays,
  // else a row of each.
  std::vector<Hdf5Array> beside;
};

// Error(ExitCode::data) for an answer that contradicts itself, or says more than a file of
// `shard_bytes` bytes can hold. Any thread.
Hdf5Layout parse_hdf5_layout(Bytes answer, uint64_t shard_bytes);

// What lies in a file whose layout was parsed. `stem` begins the names of samples without keys. One
// whose place makes no sense is a bad one. Any thread.
ShardContents hdf5_contents(const Hdf5Layout& layout, uint64_t shard_bytes,
                            const std::string& stem);

}  // namespace stoker
