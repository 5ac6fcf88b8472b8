#include "io/profiler/counters/merge.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "io/profiler/counters/sums.h"

namespace stoker {
namespace {

using P = PosixCounters;
using S = StdioCounters;

constexpr double kEarliest = 1e-9;

template <class C>
void add(C& into, const C& later, size_t first, size_t last) {
  for (size_t i = first; i <= last; ++i) {
    into.counters[i] = sum_of(into.counters[i], later.counters[i]);
  }
}

template <class C>
void keep_larger(C& into, const C& later, std::initializer_list<size_t> which) {
  for (const size_t i : which) into.counters[i] = std::max(into.counters[i], later.counters[i]);
}

template <class C>
void keep_own(C& into, const C& later, std::initializer_list<size_t> which) {
  for (const size_t i : which) {
    if (into.counters[i] == 0) into.counters[i] = later.counters[i];
  }
}

// first_begin .. last_begin are times of begins, and the same number of ends follow.
template <class C>
void merge_stamps(C& into, const C& later, size_t first_begin, size_t last_begin) {
  for (size_t i = first_begin; i <= last_begin; ++i) {
    double& begin = into.times[i];
    if (begin == 0 || (later.times[i] != 0 && later.times[i] < begin)) begin = later.times[i];
    double& end = into.times[last_begin + 1 + i - first_begin];
    end = std::max(end, later.times[last_begin + 1 + i - first_begin]);
  }
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
  add(into, later, P::OPENS, P::RENAME_TARGETS);
  // -1: mappings were not looked at.
  into.counters[P::MMAPS] = std::max<int64_t>(into.counters[P::MMAPS], -1);
  keep_own(into, later, {P::RENAMED_FROM, P::MEM_ALIGNMENT, P::FILE_ALIGNMENT});
  if (later.counters[P::MODE] != 0) into.counters[P::MODE] = later.counters[P::MODE];
  add(into, later, P::BYTES_READ, P::BYTES_WRITTEN);
  keep_larger(into, later, {P::MAX_BYTE_READ, P::MAX_BYTE_WRITTEN});
  add(into, later, P::CONSEC_READS, P::MEM_NOT_ALIGNED);
  add(into, later, P::FILE_NOT_ALIGNED, P::FILE_NOT_ALIGNED);
  merge_slowest(into, later, P::MAX_READ_TIME, P::MAX_READ_TIME_SIZE);
  merge_slowest(into, later, P::MAX_WRITE_TIME, P::MAX_WRITE_TIME_SIZE);
  add(into, later, P::SIZE_READ_0_100, P::STRIDE1_STRIDE - 1);
  merge_common(into, later, P::STRIDE1_STRIDE);
  merge_common(into, later, P::ACCESS1_ACCESS);
  merge_stamps(into, later, P::OPEN_START, P::CLOSE_START);
  for (const auto time : {P::READ_TIME, P::WRITE_TIME, P::META_TIME}) {
    into.times[time] += later.times[time];
  }
}

void merge(StdioCounters& into, const StdioCounters& later) {
  add(into, later, S::OPENS, S::BYTES_READ);
  keep_larger(into, later, {S::MAX_BYTE_READ, S::MAX_BYTE_WRITTEN});
  merge_stamps(into, later, S::OPEN_START, S::READ_START);
  for (const auto time : {S::META_TIME, S::WRITE_TIME, S::READ_TIME}) {
    into.times[time] += later.times[time];
  }
}

void shift_times(PosixCounters& counters, double begin_s) {
  shift(std::span(counters.times).subspan<P::OPEN_START, P::READ_TIME - P::OPEN_START>(), begin_s);
}

void shift_times(StdioCounters& counters, double begin_s) {
  shift(std::span(counters.times).subspan<S::OPEN_START, S::FASTEST_RANK_TIME - S::OPEN_START>(),
        begin_s);
}

}  // namespace stoker
