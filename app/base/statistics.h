#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/metrics/spread.h"

namespace stoker {

// Writes {min, median, p99, max}. nlohmann::json finds this function by its name, so that a Spread
// can stand wherever JSON is built.
void to_json(nlohmann::json& json, const Spread& spread);

// What every benchmark says of measurements that do not agree: "its rounds differ by 121 %, so
// other work was on the device or the machine: measure again when it is quiet". Empty where the
// largest is at most this share above the least. A pure function; any thread.
std::string rounds_differ(const Spread& rounds, double most = 0.25);

}  // namespace stoker
