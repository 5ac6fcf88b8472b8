#include "io/metrics/idle.h"

#include <algorithm>
#include <utility>

namespace stoker {
namespace {

IdleCause cause_of(Segment segment) {
  if (segment == Segment::data_wait) return IdleCause::data;
  if (segment == Segment::h2d) return IdleCause::h2d;
  if (segment == Segment::checkpoint_stall) return IdleCause::checkpoint;
  return IdleCause::host;
}

}  // namespace

const char* idle_cause_name(IdleCause cause) {
  constexpr std::array<const char*, kIdleCauses> kNames{"data", "h2d", "checkpoint", "peers",
                                                        "host"};
  return kNames[static_cast<size_t>(cause)];
}

void IdleAttribution::add_step(const BusyInterval& step) {
  settle();
  if (peers_late_) {
    newest_ = step;
  } else {
    count(step);
  }
}

void IdleAttribution::settle() {
  if (newest_) count(*std::exchange(newest_, std::nullopt));
}

void IdleAttribution::count(BusyInterval step) {
  // A step that began before observation, or before the step ahead of it ended, counts from there.
  const TimePoint start = std::max(step.start, last_end_);
  const TimePoint end = std::max(step.end, start);
  const TimePoint submitted = std::clamp(step.submitted, last_end_, start);
  // Before the step was submitted the device waited for the host, afterwards for the batch's copy:
  // the device takes steps in order, and the one before has ended.
  attribute(last_end_, submitted);
  idle(IdleCause::h2d) += ran(submitted, start);
  const Duration all = ran(start, end);
  const Duration peers = std::min(step.peers + owed_, all);
  owed_ = std::max(Duration::zero(), step.peers + owed_ - peers);
  const Duration starved = std::min(step.starved, all - peers);
  const Duration checkpoint = std::min(starved, within(Segment::checkpoint_stall, start, end));
  busy_ += all - peers - starved;
  idle(IdleCause::peers) += peers;
  idle(IdleCause::checkpoint) += checkpoint;
  idle(IdleCause::host) += starved - checkpoint;
  copy_ += step.copy;
  last_end_ = end;
  // Later gaps begin here, so that older segments are of no use any more. The list stays short.
  while (!segments_.empty() && segments_.front().end <= last_end_) segments_.pop_front();
  if (++steps_ == 1) {
    first_end_ = end;
    first_paused_ = paused_;
    first_busy_ = busy_;
  }
}

void IdleAttribution::attribute(TimePoint from, TimePoint to) {
  Duration left = to - from;
  for (const SegmentInterval& interval : segments_) {
    if (interval.begin >= to) break;
    const TimePoint begin = std::max(from, interval.begin);
    const TimePoint end = std::min(to, interval.end);
    if (begin >= end) continue;
    (interval.segment == Segment::paused ? paused_ : idle(cause_of(interval.segment))) +=
        end - begin;
    left -= end - begin;
  }
  // No segment covers the rest: the loop's own work between two of them.
  idle(IdleCause::host) += left;
}

IdleAttribution::Duration IdleAttribution::within(Segment segment, TimePoint from,
                                                  TimePoint to) const {
  Duration time{};
  for (const SegmentInterval& interval : segments_) {
    const TimePoint begin = std::max(from, interval.begin);
    const TimePoint end = std::min(to, interval.end);
    if (interval.segment == segment && begin < end) time += end - begin;
  }
  return time;
}

IdleAttribution::Duration IdleAttribution::ran(TimePoint from, TimePoint to) {
  const Duration paused = within(Segment::paused, from, to);
  paused_ += paused;
  return to - from - paused;
}

DeviceTime IdleAttribution::total() const {
  DeviceTime total{seconds(last_end_ - begin_ - paused_), seconds(busy_), seconds(copy_), {}};
  for (size_t i = 0; i < kIdleCauses; ++i) total.idle[i] = seconds(idle_[i]);
  return total;
}

std::optional<double> IdleAttribution::au() const {
  const Duration since_first = last_end_ - first_end_ - (paused_ - first_paused_);
  if (steps_ < 2 || since_first == Duration::zero()) return std::nullopt;
  return seconds(busy_ - first_busy_) / seconds(since_first);
}

}  // namespace stoker
