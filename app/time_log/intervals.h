#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

// A stretch of time, in a unit of the caller's choice; integers, so that sums are exact.
struct TimeSpan {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const TimeSpan&) const = default;
};
// "United": ascending, apart from one another, none of them empty.
// All functions are pure; any thread.
using TimeSpans = std::vector<TimeSpan>;

// Time that lies in at least one of any spans, united. Spans that end before they begin are empty.
TimeSpans unite(TimeSpans spans);
// Time that lies in both; both united, and so is the result.
TimeSpans intersect(const TimeSpans& a, const TimeSpans& b);
// Time that lies in `a` and not in `b`; both united, and so is the result.
TimeSpans subtract(const TimeSpans& a, const TimeSpans& b);
// The sum of their lengths. For a united set, it is the time that the set covers.
int64_t total(const TimeSpans& spans);

}  // namespace stoker
