#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

// A figure with its 95 % confidence interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// median(b) / median(a) - 1, by the percentile bootstrap (Efron 1979): both samples drawn anew with
// replacement `draws` times. A function of its arguments. Neither sample is empty; values above 0.
Interval relative_difference(const std::vector<double>& a, const std::vector<double>& b,
                             int draws = 2000, uint64_t seed = 1);

}  // namespace stoker
