#pragma once

#include <string>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// The elements of a tensor as numbers: exact for all types but I64, whose last bits may go. dtype:
// one that a layout may have (layout.h). A pure function; any thread.
void element_values(const std::string& dtype, Bytes bytes, std::vector<double>& values);

}  // namespace stoker
