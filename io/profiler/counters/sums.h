#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace stoker {

// a + b, or the nearest number that there is: counters of logs are what strangers say.
constexpr int64_t sum_of(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// A time that can be added and compared. It is 0 if `seconds` is not a number, or is more than
// 30,000 years.
inline double finite(double seconds) { return std::abs(seconds) < 1e12 ? seconds : 0; }

}  // namespace stoker
