#include "app/time_log/intervals.h"

#include <algorithm>

namespace stoker {

TimeSpans unite(TimeSpans spans) {
  std::erase_if(spans, [](const TimeSpan& span) { return span.end <= span.begin; });
  std::ranges::sort(spans, {}, &TimeSpan::begin);
  TimeSpans united;
  for (const TimeSpan& span : spans) {
    if (united.empty() || span.begin > united.back().end) {
      united.push_back(span);
    } else {
      united.back().end = std::max(united.back().end, span.end);
    }
  }
  return united;
}

TimeSpans intersect(const TimeSpans& a, const TimeSpans& b) {
  TimeSpans both;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const TimeSpan common{std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
    if (common.begin < common.end) both.push_back(common);
    ++(a[i].end < b[k].end ? i : k);
  }
  return both;
}

TimeSpans subtract(const TimeSpans& a, const TimeSpans& b) {
  TimeSpans rest;
  size_t k = 0;
  for (TimeSpan span : a) {
    while (k < b.size() && b[k].end <= span.begin) ++k;
    for (size_t at = k; at < b.size() && b[at].begin < span.end; ++at) {
      if (b[at].begin > span.begin) rest.push_back({span.begin, b[at].begin});
      span.begin = std::max(span.begin, b[at].end);
    }
    if (span.begin < span.end) rest.push_back(span);
  }
  return rest;
}

int64_t total(const TimeSpans& spans) {
  int64_t sum = 0;
  for (const TimeSpan& span : spans) sum += span.end - span.begin;
  return sum;
}

}  // namespace stoker
