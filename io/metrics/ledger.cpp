#include "io/metrics/ledger.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stoker {

const char* segment_name(Segment segment) {
  constexpr std::array<const char*, kSegments> kNames{
      "data_wait", "h2d", "compute", "allreduce", "checkpoint_stall",
      "eval",      "log", "other",   "paused"};
  return kNames[static_cast<size_t>(segment)];
}

namespace {

std::array<double, kSegments> in_seconds(const LiveSegments::Spent& spent) {
  std::array<double, kSegments> result{};
  std::ranges::transform(spent, result.begin(), [](Clock::duration time) { return seconds(time); });
  return result;
}

// The interval with what lies between its pauses and these, in order.
std::vector<SegmentInterval> split(SegmentInterval interval,
                                   const std::vector<SegmentInterval>& pauses) {
  std::vector<SegmentInterval> parts;
  for (const SegmentInterval& pause : pauses) {
    const TimePoint begin = std::max(pause.begin, interval.begin);
    const TimePoint end = std::min(pause.end, interval.end);
    if (begin >= end) continue;
    parts.push_back({interval.segment, interval.begin, begin});
    parts.push_back({Segment::paused, begin, end});
    interval.begin = end;
  }
  parts.push_back(interval);
  return parts;
}

void add(const SegmentInterval& interval, LiveSegments::Spent& to) {
  to[static_cast<size_t>(interval.segment)] += interval.end - interval.begin;
}

}  // namespace

LiveSegments::Reading LiveSegments::read() const {
  const std::lock_guard lock(mutex_);
  Spent spent = spent_;
  if (since_) {
    const TimePoint now = Clock::now();
    look(now);
    for (const SegmentInterval& part : split({segment_, *since_, now}, pauses_)) add(part, spent);
  }
  return {segment_, in_seconds(spent)};
}

void LiveSegments::beat() {
  const std::lock_guard lock(mutex_);
  if (!since_) return;
  const TimePoint now = Clock::now();
  look(now);
  beat_ = now;
}

std::vector<SegmentInterval> LiveSegments::pauses(TimePoint end) const {
  const std::lock_guard lock(mutex_);
  look(end);
  return pauses_;
}

// Whoever looks first after a pause finds it, and it stays as it was found: what others read of the
// segments never shrinks.
void LiveSegments::look(TimePoint now) const {
  if (!beat_) return;
  if (now - *beat_ >= kLeastPause) pauses_.push_back({Segment::paused, *beat_, now});
  beat_ = std::max(*beat_, now);
}

void LiveSegments::begin(Segment segment, TimePoint since, const Spent& spent) {
  const std::lock_guard lock(mutex_);
  segment_ = segment;
  since_ = since;
  spent_ = spent;
  std::erase_if(pauses_, [&](const SegmentInterval& pause) { return pause.end <= since; });
  if (beat_) beat_ = std::max(*beat_, since);
}

void LiveSegments::end(const Spent& spent) {
  const std::lock_guard lock(mutex_);
  since_.reset();
  spent_ = spent;
  beat_.reset();
  pauses_.clear();
}

void StepLedger::begin() {
  totals_ = {};
  intervals_.clear();
  running_ = true;
  segment_ = Segment::other;
  wall_begin_ = Clock::now();  // a reading of its own, as the header says
  since_ = Clock::now();
  now_.begin(segment_, since_, totals_);
}

// Two readings of the clock, one for the end and one for the begin. With a single one the segments
// would add up to the wall time by construction, and closure_error() would measure nothing. The
// bookkeeping comes behind both, so that it counts in the segment that begins.
void StepLedger::switch_to(Segment segment) {
  if (!running_) return;
  const SegmentInterval ended{segment_, since_, Clock::now()};
  since_ = Clock::now();
  segment_ = segment;
  keep(ended);
  now_.begin(segment_, since_, totals_);
}

void StepLedger::end() {
  if (!running_) return;
  const SegmentInterval ended{segment_, since_, Clock::now()};
  wall_end_ = Clock::now();
  running_ = false;
  keep(ended);
  now_.end(totals_);
}

void StepLedger::keep(const SegmentInterval& interval) {
  for (const SegmentInterval& part : split(interval, now_.pauses(interval.end))) {
    add(part, totals_);
    intervals_.push_back(part);
  }
}

double StepLedger::wall() const {
  return seconds((running_ ? Clock::now() : wall_end_) - wall_begin_);
}

std::array<double, kSegments> StepLedger::totals() const { return in_seconds(totals_); }

double StepLedger::closure_error() const {
  const double sum =
      seconds(std::accumulate(totals_.begin(), totals_.end(), Clock::duration::zero()));
  const double wall = seconds((running_ ? since_ : wall_end_) - wall_begin_);
  return wall > 0 ? std::abs(sum - wall) / wall : 0;
}

}  // namespace stoker
