#include "io/metrics/ledger.h"

#include <cmath>
#include <numeric>

namespace stoker {

const char* segment_name(Segment segment) {
  switch (segment) {
    case Segment::data_wait:
      return "data_wait";
    case Segment::h2d:
      return "h2d";
    case Segment::compute:
      return "compute";
    case Segment::eval:
      return "eval";
    case Segment::log:
      return "log";
    case Segment::other:
      return "other";
  }
  return "unknown";
}

void StepLedger::begin() {
  totals_ = {};
  intervals_.clear();
  running_ = true;
  segment_ = Segment::other;
  wall_begin_ = Clock::now();
  since_ = Clock::now();
}

void StepLedger::switch_to(Segment segment) {
  if (!running_) return;
  const TimePoint now = Clock::now();
  totals_[static_cast<size_t>(segment_)] += seconds(now - since_);
  intervals_.push_back({segment_, since_, now});
  segment_ = segment;
  since_ = now;
}

void StepLedger::end() {
  switch_to(Segment::other);
  wall_end_ = Clock::now();
  running_ = false;
}

double StepLedger::wall() const {
  return seconds((running_ ? Clock::now() : wall_end_) - wall_begin_);
}

double StepLedger::closure_error() const {
  const double sum = std::accumulate(totals_.begin(), totals_.end(), 0.0);
  return wall() > 0 ? std::abs(sum - wall()) / wall() : 0;
}

}  // namespace stoker
