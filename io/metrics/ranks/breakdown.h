#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "io/metrics/loader_meter.h"
#include "io/metrics/run_totals.h"

namespace stoker {

// The parts into which LMDBIO's papers stack a rank's run time (Pumma et al., HPCC 2017, ICPADS
// 2017), and what they leave out: compute (of a device whose steps cannot be divided) and other.
enum class TimePart {
  read,
  transform,
  forward,
  backward,
  compute,
  wait_before_sync,
  sync,
  update,
  other
};
inline constexpr size_t kTimeParts = 9;
// "wait_before_sync": the name in every sink. Valid for ever.
const char* time_part_name(TimePart part);

// Seconds by part; absent: not known, and contained in another. A value of plain bytes.
using Breakdown = std::array<std::optional<double>, kTimeParts>;

// The trainer's time by part, exclusive: it adds up to that of all segments. read and transform are
// what the trainer waited for data, divided as the threads of its loader divided theirs. timing:
// DeviceInfo::timing_method. A pure function.
Breakdown break_down(const RunTotals& totals, const std::string& timing,
                     const LoaderMeter::State& loader);
// What the loader's threads did beside the trainer: their own time less what the trainer waited for
// it. It has read and transform alone.
Breakdown hidden_time(const RunTotals& totals, const LoaderMeter::State& loader);

}  // namespace stoker
