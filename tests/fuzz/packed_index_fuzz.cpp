#include <nlohmann/json.hpp>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/json.h"
#include "io/dataset/packed_index.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The input as the inner part, with a checksum that agrees; the input itself where it is no JSON.
std::string signed_index(std::string_view inner) {
  try {
    const nlohmann::json json = parse_json(inner, {7, 10'000});
    return json_text(nlohmann::json{{"checksum", xxh3_128(json_text(json))}, {"index", json}});
  } catch (const Error&) {
    return std::string(inner);
  }
}

}  // namespace
}  // namespace stoker

STOKER_FUZZ_TARGET(packed_index) {
  using namespace stoker;
  const PackedIndex index = parse_packed(bytes_of(signed_index(fuzz::text(input))), "packed.json");
  for (size_t shard = 0; shard < index.shards.size(); ++shard) (void)index.shard_bytes(shard);
  const std::string written = packed_json(index);
  fuzz::require(packed_json(parse_packed(bytes_of(written), "again")) == written,
                "an index changes when it is read again");
}
