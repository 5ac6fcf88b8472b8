#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/metrics/spread.h"

namespace stoker {

// {min, median, p99, max}. For nlohmann::json, which finds it by its name: a Spread can stand
// wherever JSON is built.
void to_json(nlohmann::json& json, const Spread& spread);

}  // namespace stoker
