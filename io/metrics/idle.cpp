#include "io/metrics/idle.h"

#include <algorithm>

namespace stoker {
namespace {

IdleCause cause_of(Segment segment) {
  if (segment == Segment::data_wait) return IdleCause::data;
  return segment == Segment::h2d ? IdleCause::h2d : IdleCause::host;
}

}  // namespace

const char* idle_cause_name(IdleCause cause) {
  switch (cause) {
    case IdleCause::data:
      return "data";
    case IdleCause::h2d:
      return "h2d";
    case IdleCause::host:
      return "host";
  }
  return "unknown";
}

void IdleAttribution::add_step(const BusyInterval& step) {
  const TimePoint start = std::max(step.start, last_end_);
  const TimePoint end = std::max(step.end, start);
  const TimePoint submitted = std::clamp(step.submitted, last_end_, start);
  attribute(last_end_, submitted);
  total_.idle[static_cast<size_t>(IdleCause::h2d)] += seconds(start - submitted);
  total_.busy += seconds(end - start);
  total_.copy += seconds(step.copy);
  total_.observed = seconds(end - begin_);
  last_end_ = end;
  while (!segments_.empty() && segments_.front().end <= last_end_) segments_.pop_front();
  if (++steps_ == 1) first_ = total_;
}

void IdleAttribution::attribute(TimePoint from, TimePoint to) {
  double left = seconds(to - from);
  for (const SegmentInterval& interval : segments_) {
    const TimePoint begin = std::max(from, interval.begin), end = std::min(to, interval.end);
    if (begin >= end) continue;
    total_.idle[static_cast<size_t>(cause_of(interval.segment))] += seconds(end - begin);
    left -= seconds(end - begin);
  }
  // What no segment covers is the host's, so that busy and idle add up.
  total_.idle[static_cast<size_t>(IdleCause::host)] += left;
}

std::optional<double> IdleAttribution::au() const {
  const double observed = total_.observed - first_.observed;
  if (steps_ < 2 || observed <= 0) return std::nullopt;
  return (total_.busy - first_.busy) / observed;
}

}  // namespace stoker
