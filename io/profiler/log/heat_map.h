#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "io/profiler/profile.h"

namespace stoker {

// Bytes read and written over time, by the rules of Darshan's module HEATMAP: at most 200 bins of
// equal width, a tenth of a second or that doubled until they hold the whole session; a segment's
// bytes are spread over the time it took. A value.
struct HeatMap {
  double bin_s = 0.1;
  std::vector<int64_t> read, written;  // of the same size, at least one bin
};

// A heat map of the segments of each rank that has any. All have the same bins. Any thread.
std::map<int64_t, HeatMap> heat_maps(const IoProfile& profile);

}  // namespace stoker
