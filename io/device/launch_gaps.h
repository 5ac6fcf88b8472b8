#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "io/metrics/clock.h"

namespace stoker {

// How long a device waited within a step for the host to launch the next part of it. Events say
// when a step began and ended, and nothing about the gaps between its kernels. A value for each
// kind of step; one thread at a time.
//
// 1. A step of which everything had been launched before it began had no gaps: what it took is the
//    time that such steps compute. That is so for all steps while the host is ahead.
// 2. Any other step had gaps as far as it took longer than that.
// 3. Where the host is never ahead, because data is late or the steps are short, a step is held
//    back now and then until all of it is launched: hold_next(). That costs a launch.
class LaunchGaps {
 public:
  // Whether to hold the next step back.
  bool hold_next() {
    if (++since_known_ < next_hold_) return false;
    since_known_ = 0;
    // Nothing may be learned from it. Then the next one is twice as far away.
    next_hold_ = std::min(2 * next_hold_, kRarely);
    return true;
  }

  struct Step {
    int64_t samples;
    TimePoint launched;  // all of it, on the host's clock
    TimePoint start;     // the same clock
    Clock::duration work;
  };
  // In the order of the steps: for how long of its work the device waited.
  Clock::duration starved(const Step& step) {
    const double work = seconds(step.work);
    const auto samples = static_cast<double>(std::max<int64_t>(step.samples, 1));
    if (step.launched <= step.start) {
      // The mean of the last few: clocks and neighbours on the device change.
      const double latest = work / samples;
      a_sample_ = a_sample_ ? *a_sample_ + (latest - *a_sample_) / kMemory : latest;
      since_known_ = 0;
      next_hold_ = kRarely;
      return {};
    }
    return from_seconds(a_sample_ ? std::max(work - *a_sample_ * samples, 0.0) : 0);
  }

 private:
  // In the first steps libraries are loaded, and a graph is captured, which waits for the device.
  static constexpr int64_t kFirst = 8;
  static constexpr int64_t kRarely = 512;
  static constexpr double kMemory = 8;

  int64_t since_known_ = 0;
  int64_t next_hold_ = kFirst;
  std::optional<double> a_sample_;  // seconds that a step computes for it
};

}  // namespace stoker
