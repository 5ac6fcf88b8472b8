#include <algorithm>

#include "io/dataset/formats/hdf5/chunk.h"
#include "tests/fuzz/target.h"

// The first two bytes are how it is packed, the next two its size; the rest is the chunk.
STOKER_FUZZ_TARGET(hdf5_chunk) {
  using namespace stoker;
  if (input.size() < 4) return;
  const auto number = [&](size_t at) { return input[at] | uint64_t{input[at + 1]} << 8; };
  const uint64_t packing = number(0);
  const size_t unpacked = number(2);
  const Bytes stored = input.subspan(4);
  if (!hdf5_chunk_fits(stored.size(), unpacked)) return;
  Hdf5Unpacker unpacker;
  Buffer once, twice;
  unpacker.unpack(stored, packing, unpacked, once.resize(unpacked));
  unpacker.unpack(stored, packing, unpacked, twice.resize(unpacked));
  fuzz::require(std::ranges::equal(once.bytes(), twice.bytes()), "a chunk is unpacked differently");
}
