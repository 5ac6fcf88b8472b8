#include "io/dataset/formats/hdf5/chunk.h"
#include "io/dataset/formats/hdf5/layout.h"
#include "tests/fuzz/target.h"

// What stoker_hdf5 says of a shard of 1 MB.
STOKER_FUZZ_TARGET(hdf5_answer) {
  using namespace stoker;
  constexpr uint64_t kShard = 1'000'000;
  const Hdf5Layout layout = parse_hdf5_layout(input, kShard);
  const ShardContents contents = hdf5_contents(layout, kShard, "train-0");
  const std::vector<ShardSample>& samples = contents.samples;
  size_t parts = 0;
  for (const ShardSample& sample : samples) {
    parts += sample.parts.size();
    if (sample.bad) continue;
    uint64_t sum = 0;
    for (const ShardPart& part : sample.parts) {
      fuzz::require(part.offset <= kShard && part.bytes <= kShard - part.offset,
                    "a part lies outside of its shard");
      fuzz::require(part.begin <= part.unpacked && part.taken <= part.unpacked - part.begin,
                    "a sample lies outside of its chunk");
      fuzz::require(part.packing == 0 || hdf5_chunk_fits(part.bytes, part.unpacked),
                    "a chunk is larger than it can be");
      sum += part.taken;
    }
    const bool inside = sample.offset <= kShard && sample.bytes <= kShard - sample.offset;
    fuzz::require(sample.parts.empty() ? inside : sum == sample.bytes,
                  "a sample lies outside of its shard");
  }
  size_t most = samples.size() + layout.images.chunks.size();
  for (const Hdf5Array& array : layout.beside) most += samples.size() + array.chunks.size();
  fuzz::require(parts <= most, "samples overlap");
  const std::string index = shard_index_json(contents, kShard, "hdf5");
  const auto again = parse_shard_index(fuzz::bytes(index), kShard, "hdf5");
  fuzz::require(shard_index_json(again, kShard, "hdf5") == index,
                "an index changes when it is read again");
}
