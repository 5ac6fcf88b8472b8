#include <nlohmann/json.hpp>

#include "app/data/convert/journal.h"
#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/json.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

Bytes receipt_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The input as the inner part, with a checksum that agrees; the input itself where it is no JSON.
std::string signed_receipt(std::string_view inner) {
  try {
    const nlohmann::json json = parse_json(inner, {7, 10'000});
    return json_text(nlohmann::json{{"checksum", xxh3_128(json_text(json))}, {"index", json}});
  } catch (const Error&) {
    return std::string(inner);
  }
}

}  // namespace
}  // namespace stoker

STOKER_FUZZ_TARGET(receipt) {
  using namespace stoker;
  const std::string text = signed_receipt(fuzz::text(input));
  const std::string written = receipt_json(parse_receipt(receipt_bytes(text)));
  fuzz::require(receipt_json(parse_receipt(receipt_bytes(written))) == written,
                "a receipt changes when it is read again");
}
