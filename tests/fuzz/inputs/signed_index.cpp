#include "tests/fuzz/inputs/signed_index.h"

#include <nlohmann/json.hpp>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker::fuzz {

std::string signed_index(std::string_view inner) {
  try {
    const nlohmann::json json = parse_json(inner, {7, 10'000});
    return json_text(nlohmann::json{{"checksum", xxh3_128(json_text(json))}, {"index", json}});
  } catch (const Error&) {
    return std::string(inner);
  }
}

}  // namespace stoker::fuzz
