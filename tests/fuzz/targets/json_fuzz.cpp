#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "tests/fuzz/target.h"

// What is read is printed so that it is read again as the same.
STOKER_FUZZ_TARGET(json) {
  using namespace stoker;
  const std::string_view text = fuzz::text(input);
  (void)try_parse_json(text);
  const std::string printed = json_text(parse_json(text, {64, 10'000}));
  fuzz::require(json_text(parse_json(printed)) == printed, "JSON changes when it is read again");
}
