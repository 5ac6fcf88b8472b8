#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker {

inline constexpr size_t kClimateChannels = 16;
inline constexpr size_t kClimateStats = 4;

// What is known of a channel: the lowest, highest and mean value, and the standard deviation.
using ClimateStats = std::array<std::array<float, kClimateStats>, kClimateChannels>;

// A state of the weather like those of the Climate Data Benchmark. A value.
struct ClimateFields {
  std::vector<float> data;    // [16, rows, columns]
  std::vector<float> labels;  // [rows, columns]: 0 nothing, 1 tropical cyclone, 2 atmospheric river
  ClimateStats stats;
};

// Smooth fields with noise. Cyclones are low pressure (channel 10) with winds around it (1, 2), and
// moist (0); rivers are long moist bands (0) with wind along them (1, 2). Their shares of the
// pixels are about those published, 0.071 % and 1.7 %. Channel 0 is within [0, 60], 1 and 2 within
// [-40, 40], 10 within [95000, 105000]; the others carry no information. A pure function of its
// arguments, the same on every machine; any thread.
ClimateFields climate_fields(int64_t rows, int64_t columns, uint64_t seed);

}  // namespace stoker
