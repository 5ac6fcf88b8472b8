#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "io/metrics/clock.h"

namespace stoker {

// What the trainer's thread is doing. Exclusive and exhaustive: a later segment is one more line
// here and in segment_name().
enum class Segment { data_wait, h2d, compute, eval, log, other };
inline constexpr size_t kSegments = 6;
const char* segment_name(Segment segment);

struct SegmentInterval {
  Segment segment;
  TimePoint begin;
  TimePoint end;
};

// Splits the wall time of the training loop into segments. The trainer's thread. One clock reading
// per switch; the wall time is measured by readings of its own, so that closure_error() can fail.
class StepLedger {
 public:
  void begin();  // the loop starts, in `other`
  void switch_to(Segment segment);
  void end();

  bool running() const { return running_; }
  TimePoint begun() const { return wall_begin_; }
  // Seconds since begin(), or of the whole loop after end().
  double wall() const;
  // Seconds by segment since begin(); the current one counts up to its last switch.
  const std::array<double, kSegments>& totals() const { return totals_; }
  // |sum of the segments - wall| / wall after end().
  double closure_error() const;
  // The intervals since the last call, in order.
  std::vector<SegmentInterval> take_intervals() { return std::exchange(intervals_, {}); }

 private:
  bool running_ = false;
  TimePoint wall_begin_;
  TimePoint wall_end_;
  Segment segment_ = Segment::other;
  TimePoint since_;
  std::array<double, kSegments> totals_{};
  std::vector<SegmentInterval> intervals_;
};

}  // namespace stoker
