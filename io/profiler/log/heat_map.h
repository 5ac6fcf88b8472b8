#pragma once

#include "io/profiler/profile.h"

namespace stoker {

// The heat maps of a module, by the rules of Darshan's module HEATMAP: at most 200 bins of equal
// width, a tenth of a second or that doubled until they hold the whole session; a segment's bytes
// are spread over the time it took. One of each rank that has segments, and all have the same bins;
// without any segment those of the log that the profile is of. Any thread.
HeatMaps posix_heat_maps(const IoProfile& profile);
HeatMaps stdio_heat_maps(const IoProfile& profile);

}  // namespace stoker
