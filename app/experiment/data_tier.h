#pragma once

#include <string>

#include "io/core/node.h"

namespace stoker {

// The tier that a data set reads: `storage:` of the dumped dataset, or of what it wraps (`inner:`).
// Empty: none (synthetic).
std::string data_tier(const Node& dataset);

}  // namespace stoker
