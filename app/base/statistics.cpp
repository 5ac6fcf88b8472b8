#include "app/base/statistics.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace stoker {

void to_json(nlohmann::json& json, const Spread& spread) {
  json = {{"min", spread.min}, {"median", spread.median}, {"p99", spread.p99}, {"max", spread.max}};
}

std::string rounds_differ(const Spread& rounds, double most) {
  const double apart = rounds.min > 0 ? rounds.max / rounds.min - 1 : 0;
  if (apart <= most) return "";
  return fmt::format(
      "its rounds differ by {:.0f} %, so other work was on the device or the machine: measure "
      "again when it is quiet",
      100 * apart);
}

}  // namespace stoker
