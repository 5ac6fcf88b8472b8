#pragma once

#include <vector>

#include "io/metrics/tracer.h"
#include "io/profiler/profile.h"

namespace stoker {

// A profile's segments as rows of a trace (sink `trace`), one for each file, by when it was first
// used: events "read" and "write", of streams "fread" and "fwrite", of category "file", with offset
// and bytes. Where several threads
// used a file at once, it has a row for each that overlaps ("PATH (2)"), as viewers want events
// that do not. On Clock, by the profile's begin_monotonic_ns. For Tracer::add(). Any thread.
std::vector<TraceRow> file_lanes(const IoProfile& profile);

}  // namespace stoker
