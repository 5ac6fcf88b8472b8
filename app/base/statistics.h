#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/metrics/spread.h"

namespace stoker {

// Writes {min, median, p99, max}. nlohmann::json finds this function by its name, so that a Spread
// can stand wherever JSON is built.
void to_json(nlohmann::json& json, const Spread& spread);

}  // namespace stoker
