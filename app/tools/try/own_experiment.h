#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/tools/data/inspect.h"
#include "io/core/config/node.h"

namespace stoker {

// An experiment of a user's own data, with what was found by looking at them. Pure functions.

// The experiment with batches that the data set can fill; and where it has bad samples, with a
// budget for them.
void fit_to_data(const DatasetReport& report, Node& experiment);

// Overrides for measuring with fewer samples where the data set is large, and what is then
// measured, in words. Nothing where it is small, or where its type has no such option.
struct SmallerData {
  std::vector<std::string> overrides;
  std::string text;
};
SmallerData smaller_data(const DatasetReport& report, const Node& experiment);

}  // namespace stoker
