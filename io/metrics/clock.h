#pragma once

#include <chrono>

namespace stoker {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

inline double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// One step as the device saw it, on the host's steady clock. The device was able to begin at
// `submitted`; where `start` is later than both that and the end of the step before, it waited for
// the batch's copy. copy: the interval of that copy; begin == end where there was none.
struct BusyInterval {
  TimePoint submitted;
  TimePoint start;
  TimePoint end;
  Clock::duration copy{};
};

}  // namespace stoker
