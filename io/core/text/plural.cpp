#include "io/core/text/plural.h"

namespace stoker {

std::string plural_of(std::string_view noun) {
  const bool copies = noun.ends_with('y') && !noun.ends_with("ay") && !noun.ends_with("ey");
  if (copies) return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  const bool hisses =
      noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch") || noun.ends_with("sh");
  return std::string(noun) + (hisses ? "es" : "s");
}

}  // namespace stoker
