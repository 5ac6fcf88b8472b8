#include "io/device/event_timeline.h"

#include <algorithm>

namespace stoker {

BusyInterval EventTimeline::add(const EventTimes& step) {
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
