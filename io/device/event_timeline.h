#pragma once

#include <algorithm>

#include "io/metrics/clock.h"

namespace stoker {

// What the events of one step say (stream_device.cpp says where each is recorded). All but the
// first are differences on the device's clock. A value.
struct EventTimes {
  // The host's clock, just before it recorded `submitted`.
  TimePoint recorded;
  // End of the step before -> submitted.
  Clock::duration gap{};
  // Submitted -> start: what the step waited for its batch's copy.
  Clock::duration wait{};
  Clock::duration work{};  // start -> end
  // The time that the batch took on the copy stream.
  Clock::duration copy{};
};

// Puts steps that were timed by the device's clock on the host's, without synchronising the two.
// One thread at a time.
//
// 1. A gap of more than kEmptyQueue means that the queue was empty, so `submitted` completed when
//    the host recorded it: the step is anchored at `recorded`.
// 2. Else the host was ahead and `submitted` waited in the queue: it completed `gap` after the end
//    of the step before. But not before it was recorded, which corrects a clock that runs slow.
// 3. start, end = submitted + wait, + work, in the device's own precision (CUDA: 0.5 us).
// 4. Where an anchor lies before the end that was already reported (the clocks drift by some ppm
//    between two anchors), the report is cut, so that intervals never overlap; the anchor stays.
class EventTimeline {
 public:
  // Two events that were queued one behind the other are microseconds apart.
  static constexpr Clock::duration kEmptyQueue = std::chrono::microseconds(50);

  // `anchor`: when the event from which the first gap counts had completed, on the host's clock.
  explicit EventTimeline(TimePoint anchor) : end_(anchor), reported_(anchor) {}
  // The interval of the next step, on the host's clock. In the order of the steps.
  BusyInterval add(const EventTimes& step);

 private:
  TimePoint end_;  // of the last step, as anchored
  // The end of the last step that was handed out.
  TimePoint reported_;
};

inline BusyInterval EventTimeline::add(const EventTimes& step) {
  const TimePoint submitted =
      step.gap > kEmptyQueue ? step.recorded : std::max(end_ + step.gap, step.recorded);
  const TimePoint start = submitted + step.wait;
  end_ = start + step.work;
  BusyInterval busy;
  busy.submitted = std::max(submitted, reported_);
  busy.start = std::max(start, reported_);
  busy.end = reported_ = std::max(end_, reported_);
  busy.copy = step.copy;
  return busy;
}

}  // namespace stoker
