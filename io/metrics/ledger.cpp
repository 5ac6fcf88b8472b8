#include "io/metrics/ledger.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stoker {

const char* segment_name(Segment segment) {
  constexpr std::array<const char*, kSegments> kNames{
      "data_wait", "h2d", "compute", "allreduce", "checkpoint_stall", "eval", "log", "other"};
  return kNames[static_cast<size_t>(segment)];
}

namespace {

std::array<double, kSegments> in_seconds(const LiveSegments::Spent& spent) {
  std::array<double, kSegments> result{};
  std::ranges::transform(spent, result.begin(), [](Clock::duration time) { return seconds(time); });
  return result;
}

}  // namespace

LiveSegments::Reading LiveSegments::read() const {
  const std::lock_guard lock(mutex_);
  Spent spent = spent_;
  if (since_) spent[static_cast<size_t>(segment_)] += Clock::now() - *since_;
  return {segment_, in_seconds(spent)};
}

void LiveSegments::begin(Segment segment, TimePoint since, const Spent& spent) {
  const std::lock_guard lock(mutex_);
  segment_ = segment;
  since_ = since;
  spent_ = spent;
}

void LiveSegments::end(const Spent& spent) {
  const std::lock_guard lock(mutex_);
  since_.reset();
  spent_ = spent;
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
  totals_[static_cast<size_t>(interval.segment)] += interval.end - interval.begin;
  intervals_.push_back(interval);
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
