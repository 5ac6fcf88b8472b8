#pragma once

#include <string>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// The elements of a tensor as numbers, which are exact: a long double has 64 bits. dtype: one that
// a layout may have (layout.h). A pure function; any thread.
void element_values(const std::string& dtype, Bytes bytes, std::vector<long double>& values);

}  // namespace stoker
