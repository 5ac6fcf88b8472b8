#include "io/profiler/view/file_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <string>
#include <utility>

#include "io/core/text/text.h"

namespace stoker {
namespace {

TraceEvent event_of(const char* name, const IoSegment& segment, TimePoint begin) {
  // A year: no session, and nanoseconds would overflow.
  constexpr double kLongest = 3.2e7;
  const auto at = [&](double seconds) {
    return begin + from_seconds(std::clamp(seconds, -kLongest, kLongest));
  };
  TraceEvent event{name, "file", at(segment.begin_s), at(std::max(segment.begin_s, segment.end_s)),
                   static_cast<uint64_t>(segment.bytes)};
  event.offset = segment.offset;
  return event;
}

// The events of a file, in the order in which they began.
std::vector<TraceEvent> events_of(const FileIo& file, TimePoint begin) {
  std::vector<TraceEvent> events;
  const auto add = [&](const char* name, const std::vector<IoSegment>& segments) {
    for (const IoSegment& segment : segments) events.push_back(event_of(name, segment, begin));
  };
  add("read", file.reads);
  add("write", file.writes);
  add("fread", file.stream_reads);
  add("fwrite", file.stream_writes);
  std::ranges::stable_sort(events, {}, &TraceEvent::begin);
  return events;
}

// Each event goes to the first row that is free by then.
std::vector<TraceRow> lanes_of(const std::string& path, const std::vector<TraceEvent>& events) {
  std::vector<TraceRow> lanes;
  using Busy = std::pair<TimePoint, size_t>;  // until when, and which row
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::set<size_t> free;
  for (const TraceEvent& event : events) {
    for (; !busy.empty() && busy.top().first <= event.begin; busy.pop()) {
      free.insert(busy.top().second);
    }
    if (free.empty()) {
      free.insert(lanes.size());
      const std::string name =
          lanes.empty() ? path : fmt::format("{} ({})", path, lanes.size() + 1);
      lanes.push_back({kFileRow, name, {}});
    }
    const size_t lane = free.extract(free.begin()).value();
    lanes[lane].events.push_back(event);
    busy.emplace(event.end, lane);
  }
  return lanes;
}

}  // namespace

std::vector<TraceRow> file_lanes(const IoProfile& profile) {
  const TimePoint begin{std::chrono::nanoseconds(profile.begin_monotonic_ns)};
  std::vector<std::vector<TraceRow>> files;
  for (const FileIo& file : profile.files) {
    const std::vector<TraceEvent> events = events_of(file, begin);
    if (!events.empty()) files.push_back(lanes_of(to_text(file.path), events));
  }
  std::ranges::stable_sort(files, {}, [](const std::vector<TraceRow>& lanes) {
    return lanes.front().events.front().begin;
  });
  std::vector<TraceRow> rows;
  for (std::vector<TraceRow>& lanes : files) std::ranges::move(lanes, std::back_inserter(rows));
  return rows;
}

}  // namespace stoker
