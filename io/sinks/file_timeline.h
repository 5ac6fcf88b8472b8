#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "io/metrics/tracer.h"

namespace stoker {

// Rows of a trace as TensorBoard's Profile tab loads them (plugins/profile/SESSION/HOST.xplane.pb):
// a line for each row ("FILE  DIRECTORY"), and in it each event at its time since `begin`, with its
// bytes and offset. The events of the first rows up to `most`; `left_out` says how many there were
// beside. Pure; any thread.
struct FileTimeline {
  std::string xplane;
  size_t left_out = 0;
};
FileTimeline file_timeline(const std::vector<TraceRow>& rows, TimePoint begin,
                           const std::string& host, size_t most);

}  // namespace stoker
