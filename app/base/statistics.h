#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/metrics/spread.h"

namespace stoker {

// {min, median, p99, max}
void to_json(nlohmann::json& json, const Spread& spread);

}  // namespace stoker
