#include "app/base/statistics.h"

#include <nlohmann/json.hpp>

namespace stoker {

void to_json(nlohmann::json& json, const Spread& spread) {
  json = {{"min", spread.min}, {"median", spread.median}, {"p99", spread.p99}, {"max", spread.max}};
}

}  // namespace stoker
