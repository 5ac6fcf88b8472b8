#pragma once

#include <chrono>

namespace stoker {

// The clock of all measurements. Never goes back, and says nothing about the time of day
// (unix_now()).
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

// Seconds since 1970, for people and other programs; jumps when somebody sets the clock. Any
// thread.
inline double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The unit of every figure: durations become seconds where they leave the code that measures.
inline double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }
// The inverse, as the clock counts; at most some hundred years.
inline Clock::duration from_seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

// One step as the device saw it, on the host's steady clock. A value. The device could have begun
// at `submitted`; where `start` is later than both that and the end of the step before, it waited
// for the batch's copy. copy: how long that copy took; 0 if the batch was not copied. peers: for
// how long of the step it waited for other ranks, where the device knows. starved: for how long of
// the step the device had nothing to do because the host had not launched the next part of it.
struct BusyInterval {
  TimePoint submitted;
  TimePoint start;
  TimePoint end;
  Clock::duration copy{};
  Clock::duration peers{};
  Clock::duration starved{};
};

}  // namespace stoker
