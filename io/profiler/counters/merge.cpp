#include "io/profiler/counters/merge.h"

#include <algorithm>
#include <array>
#include <span>

#include "io/profiler/counters/sums.h"

namespace stoker {
namespace {

using P = PosixCounters;
using S = StdioCounters;

constexpr double kEarliest = 1e-9;

// How two counts of one file become one.
enum class CounterMerge {
  sum,
  larger,
  first,     // the earlier one that is there
  last,      // the later one that is there
  earliest,  // of times that are there
  latest,
  other  // by a rule of its own, or nobody fills it
};

#define STOKER_COUNTER(name, merge) CounterMerge::merge,
#define STOKER_TIME(name, in_logs, merge) CounterMerge::merge,
constexpr CounterMerge kPosixCounters[] = {STOKER_POSIX_COUNTERS(STOKER_COUNTER)};
constexpr CounterMerge kPosixTimes[] = {STOKER_POSIX_TIMES(STOKER_TIME)};
constexpr CounterMerge kStdioCounters[] = {STOKER_STDIO_COUNTERS(STOKER_COUNTER)};
constexpr CounterMerge kStdioTimes[] = {STOKER_STDIO_TIMES(STOKER_TIME)};
#undef STOKER_COUNTER
#undef STOKER_TIME

int64_t sum_of_two(int64_t a, int64_t b) { return sum_of(a, b); }
double sum_of_two(double a, double b) { return a + b; }

template <class T>
T merged(CounterMerge how, T into, T later) {
  switch (how) {
    case CounterMerge::sum:
      return sum_of_two(into, later);
    case CounterMerge::larger:
    case CounterMerge::latest:
      return std::max(into, later);
    case CounterMerge::first:
      return into != 0 ? into : later;
    case CounterMerge::last:
      return later != 0 ? later : into;
    case CounterMerge::earliest:
      return into == 0 || (later != 0 && later < into) ? later : into;
    case CounterMerge::other:
      break;
  }
  return into;
}

template <class T>
void merge_all(std::span<const CounterMerge> how, std::span<T> into, std::span<const T> later) {
  for (size_t i = 0; i < how.size(); ++i) into[i] = merged(how[i], into[i], later[i]);
}

void merge_slowest(P& into, const P& later, P::Time time, P::Counter bytes) {
  if (into.times[time] >= later.times[time]) return;
  into.times[time] = later.times[time];
  into.counters[bytes] = later.counters[bytes];
}

// Four values and their four counts, from `first` on.
void merge_common(P& into, const P& later, size_t first) {
  struct Value {
    int64_t value, count;
  };
  constexpr size_t kShown = 4;
  std::array<Value, 2 * kShown> values{};
  size_t different = 0;
  for (const P* from : {static_cast<const P*>(&into), &later}) {
    for (size_t i = first; i < first + kShown; ++i) {
      const Value value{from->counters[i], from->counters[i + kShown]};
      if (value.value == 0 || value.count == 0) continue;
      const auto end = values.begin() + different;
      const auto same = std::find_if(
          values.begin(), end, [&](const Value& other) { return other.value == value.value; });
      if (same == end) {
        values[different++] = value;
      } else {
        same->count = sum_of(same->count, value.count);
      }
    }
  }
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) {
    return a.count != b.count ? a.count > b.count : a.value > b.value;
  });
  for (size_t i = 0; i < kShown; ++i) {
    into.counters[first + i] = values[i].value;
    into.counters[first + kShown + i] = values[i].count;
  }
}

void shift(std::span<double> stamps, double begin_s) {
  for (double& stamp : stamps) {
    if (stamp != 0) stamp = std::max(kEarliest, stamp - begin_s);
  }
}

}  // namespace

void merge(PosixCounters& into, const PosixCounters& later) {
  merge_slowest(into, later, P::MAX_READ_TIME, P::MAX_READ_TIME_SIZE);
  merge_slowest(into, later, P::MAX_WRITE_TIME, P::MAX_WRITE_TIME_SIZE);
  merge_common(into, later, P::STRIDE1_STRIDE);
  merge_common(into, later, P::ACCESS1_ACCESS);
  merge_all<int64_t>(kPosixCounters, into.counters, later.counters);
  merge_all<double>(kPosixTimes, into.times, later.times);
  // -1: mappings were not looked at.
  into.counters[P::MMAPS] = std::max<int64_t>(into.counters[P::MMAPS], -1);
}

void merge(StdioCounters& into, const StdioCounters& later) {
  merge_all<int64_t>(kStdioCounters, into.counters, later.counters);
  merge_all<double>(kStdioTimes, into.times, later.times);
}

void shift_times(PosixCounters& counters, double begin_s) {
  shift(std::span(counters.times).subspan<P::OPEN_START, P::READ_TIME - P::OPEN_START>(), begin_s);
}

void shift_times(StdioCounters& counters, double begin_s) {
  shift(std::span(counters.times).subspan<S::OPEN_START, S::FASTEST_RANK_TIME - S::OPEN_START>(),
        begin_s);
}

}  // namespace stoker
