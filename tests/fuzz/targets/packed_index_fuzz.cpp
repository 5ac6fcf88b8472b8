#include "io/dataset/signed_index.h"
#include "tests/fuzz/inputs/signed_index.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(packed_index) {
  using namespace stoker;
  const std::string text = fuzz::signed_index(fuzz::text(input));
  const PackedIndex index = parse_packed(fuzz::bytes(text), "packed.json");
  for (size_t shard = 0; shard < index.shards.size(); ++shard) (void)index.shard_bytes(shard);
  const std::string written = packed_json(index);
  fuzz::require(packed_json(parse_packed(fuzz::bytes(written), "again")) == written,
                "an index changes when it is read again");
}
