#pragma once

#include <algorithm>

#include "io/metrics/clock.h"

namespace stoker {

// What the events of one step say (stream_device.cpp says where each is recorded). All but the
// first are differences on the device's clock. A value.
struct EventTimes {
  // The host's clock, just before it recorded `submitted`.
  TimePoint recorded;
  // The step before had not ended by then: there was work in the queue.
  bool ahead = false;
  // End of the step before -> submitted.
  Clock::duration gap{};
  // Submitted -> what waits for the copy: for how long the step was held back.
  Clock::duration held{};
  // From then -> start: what the step waited for its batch's copy.
  Clock::duration wait{};
  Clock::duration work{};  // start -> end
  // The time that the batch took on the copy stream.
  Clock::duration copy{};
};

// Puts steps that were timed by the device's clock on the host's, without synchronising the two.
// One thread at a time.
//
// 1. Where the host was late, and the gap is more than kEmptyQueue, the queue was empty, so
//    `submitted` completed when the host recorded it: the step is anchored at `recorded`.
// 2. Where it was ahead, `submitted` waited in the queue: it completed `gap` after the end of the
//    step before. But not before it was recorded, which corrects a clock that runs slow. The device
//    was not idle in this gap: other work was queued there, such as a gather. It counts as the
//    step's.
// 3. A step that was held back counts as submitted from then on.
// 4. start, end = submitted + wait, + work, in the device's own precision (CUDA: 0.5 us).
// 5. Where an anchor lies before the end that was already reported (the clocks drift by some ppm
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
  const bool empty = !step.ahead && step.gap > kEmptyQueue;
  const TimePoint submitted =
      (empty ? step.recorded : std::max(end_ + step.gap, step.recorded)) + step.held;
  const TimePoint start = submitted + step.wait;
  end_ = start + step.work;
  const Clock::duration before = step.ahead ? step.gap : Clock::duration{};
  BusyInterval busy;
  busy.submitted = std::max(submitted - before, reported_);
  busy.start = std::max(start - before, reported_);
  busy.end = reported_ = std::max(end_, reported_);
  busy.copy = step.copy;
  return busy;
}

}  // namespace stoker
