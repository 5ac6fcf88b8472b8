#pragma once

#include <vector>

namespace stoker {

// Minimum, median, 99th percentile (nearest rank) and maximum of repeated measurements.
struct Spread {
  // In the unit of the values.
  double min = 0;
  double median = 0;
  double p99 = 0;
  double max = 0;
};

// `values` must not be empty. The median of an even number is the mean of the middle two. A pure
// function; any thread.
Spread spread(std::vector<double> values);

}  // namespace stoker
