#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/core/node.h"

namespace stoker {

// A configuration as JSON: plain scalars become booleans and numbers where they are such, and text
// where they are quoted. Keys lose their order.
nlohmann::json to_json(const Node& node);

}  // namespace stoker
