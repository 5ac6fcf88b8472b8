#include "io/sinks/file_timeline.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>

#include "io/core/wire/protobuf.h"

namespace stoker {
namespace {

// Of xplane.proto, which the profiler of XLA and its plug-in for TensorBoard share. Names are said
// once, in metadata; events and statistics refer to them by number.
//
//   XSpace = 1: XPlane, 4: host
//   XPlane = 1: number, 2: name, 3: XLine, 4: names of events, 5: names of statistics
//   XLine  = 1: number, 2: name, 4: XEvent; its times count from 3, which is 0 here
//   XEvent = 1: name, 2: offset (ps), 3: duration (ps), 4: XStat
//   XStat  = 1: name, 4: value
constexpr std::string_view kPlane = "/host:CPU";  // what is no device's
enum Statistic : uint64_t { kBytes = 1, kOffset };

std::string number(uint32_t field, uint64_t value) {
  return wire_number(field, WireType::varint, value);
}

std::string statistic(Statistic name, uint64_t value) {
  return wire_bytes(4, number(1, name) + number(4, value));
}

// An entry of a map from numbers to names.
std::string name_entry(uint32_t map, uint64_t id, std::string_view name) {
  return wire_bytes(map, number(1, id) + wire_bytes(2, number(1, id) + wire_bytes(2, name)));
}

// The file before its directory, as the tab shows some thirty letters.
std::string line_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return path;
  return path.substr(slash + 1) + "  " + path.substr(0, std::max<size_t>(1, slash));
}

uint64_t picoseconds(Clock::duration time) {
  return 1000 * static_cast<uint64_t>(std::max<int64_t>(0, std::chrono::nanoseconds(time).count()));
}

}  // namespace

FileTimeline file_timeline(const std::vector<TraceRow>& rows, TimePoint begin,
                           const std::string& host, size_t most) {
  FileTimeline result;
  std::map<std::string_view, uint64_t> names;
  std::string plane = number(1, 1) + wire_bytes(2, kPlane);
  uint64_t line = 0;
  for (const TraceRow& row : rows) {
    std::string events;
    for (const TraceEvent& event : row.events) {
      if (most == 0) {
        ++result.left_out;
        continue;
      }
      --most;
      const uint64_t name = names.try_emplace(event.name, names.size() + 1).first->second;
      std::string fields = number(1, name) + number(2, picoseconds(event.begin - begin)) +
                           number(3, picoseconds(event.end - event.begin)) +
                           statistic(kBytes, event.bytes);
      if (event.offset >= 0) fields += statistic(kOffset, static_cast<uint64_t>(event.offset));
      events += wire_bytes(4, fields);
    }
    if (events.empty()) continue;
    plane += wire_bytes(3, number(1, ++line) + wire_bytes(2, line_name(row.name)) + events);
  }
  for (const auto& [name, id] : names) plane += name_entry(4, id, name);
  plane += name_entry(5, kBytes, "bytes") + name_entry(5, kOffset, "offset");
  result.xplane = wire_bytes(1, plane) + wire_bytes(4, host);
  return result;
}

}  // namespace stoker
