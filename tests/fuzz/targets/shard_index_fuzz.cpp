#include "io/dataset/shards/shard_index.h"
#include "tests/fuzz/inputs/signed_index.h"
#include "tests/fuzz/target.h"

// The index that is kept beside a shard of 1 MB.
STOKER_FUZZ_TARGET(shard_index) {
  using namespace stoker;
  constexpr uint64_t kShard = 1'000'000;
  const auto lies_in = [](uint64_t begin, uint64_t bytes, uint64_t all) {
    return begin <= all && bytes <= all - begin;
  };
  const std::string text = fuzz::signed_index(fuzz::text(input));
  const ShardContents contents = parse_shard_index(fuzz::bytes(text), kShard, "x");
  for (const ShardSample& sample : contents.samples) {
    uint64_t sum = 0;
    for (const ShardPart& part : sample.parts) {
      fuzz::require(lies_in(part.offset, part.bytes, kShard), "a part lies outside of its shard");
      fuzz::require(lies_in(part.begin, part.taken, part.unpacked),
                    "a sample lies outside of what is unpacked");
      sum += part.taken;
    }
    if (sample.bad) continue;
    fuzz::require(
        sample.parts.empty() ? lies_in(sample.offset, sample.bytes, kShard) : sum == sample.bytes,
        "a sample lies outside of its shard");
  }
  const std::string written = shard_index_json(contents, kShard, "x");
  const auto again = parse_shard_index(fuzz::bytes(written), kShard, "x");
  fuzz::require(shard_index_json(again, kShard, "x") == written,
                "an index changes when it is read again");
}
