#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "io/metrics/clock.h"
#include "io/metrics/ledger.h"

namespace stoker {

// Why the device had nothing to do. A further cause is one more line here, in idle_cause_name() and
// in the map from segments to causes.
enum class IdleCause { data, h2d, checkpoint, peers, host };
inline constexpr size_t kIdleCauses = 5;
const char* idle_cause_name(IdleCause cause);

// A loss of less than the first share of the device's time is fine, and one of more than the second
// decides what holds a run up. These are TensorFlow profiler's constants for input-bound programs.
inline constexpr double kModerateShare = 0.05;
inline constexpr double kBoundShare = 0.20;

// The device's time from the begin of the loop to the end of its last finished step, without that
// in which the process stood still (Segment::paused). A value. Seconds; busy + sum(idle) ==
// observed to the nanosecond.
struct DeviceTime {
  double observed = 0;
  double busy = 0;
  double copy = 0;  // of batches to the device; beside busy, on an engine of its own
  std::array<double, kIdleCauses> idle{};
};

// Says why the device was idle between two steps, from what the host was doing then. One thread at
// a time.
//
// 1. Observation begins with the loop: the first step's gap is the filling of the pipeline.
// 2. Until a step was submitted, the device waited for the host. That part of the gap is
//    intersected with the trainer's segments: data_wait -> data, h2d -> h2d,
//    checkpoint_stall -> checkpoint, all others, and what no segment covers, -> host.
// 3. From then until the step started, the device waited for the batch's copy -> h2d.
// 4. What of the device's time the process stood still counts for nothing: it is not observed.
// 5. Of the time inside a step, that in which the device waited for the host to launch the rest
//    of it (BusyInterval::starved) -> checkpoint, as far as the host waited for one meanwhile, else
//    host; and that in which the step waited for another rank's gradients -> peers.
//
// Example: the host waits for data until 10, then submits a step at 12 that starts at 15 and ends
// at 40; the step before ended at 4. Idle are 6 for data, 2 for the host, 3 for h2d; busy are 25.
class IdleAttribution {
 public:
  // begin: when the training loop begins. The device is observed from then on. peers_late: how long
  // a step waited for its peers is told by add_peers() before the next one is added, so that the
  // newest step counts only then, or with settle(). Nothing that was counted is taken back.
  explicit IdleAttribution(TimePoint begin, bool peers_late = false)
      : begin_(begin), last_end_(begin), peers_late_(peers_late) {}

  // The trainer's segments, in order. Those that ended before a step was submitted must come before
  // that step.
  void add_segment(const SegmentInterval& interval) { segments_.push_back(interval); }
  // The device's steps, in order, however late.
  void add_step(const BusyInterval& step);
  // Says for how long the step that was added last waited for its peers. What is longer than the
  // step is taken off the next ones.
  void add_peers(Clock::duration waited) { owed_ += waited; }
  // Nothing more is told of the newest step.
  void settle();

  // The times of all steps that count so far.
  DeviceTime total() const;
  // Accelerator utilisation as MLPerf Storage defines it: compute time / total time, without the
  // first step and what came before it; 0 to 1. Absent before the second step.
  std::optional<double> au() const;

 private:
  using Duration = Clock::duration;

  void count(BusyInterval step);
  // Splits the gap [from, to) between the causes.
  void attribute(TimePoint from, TimePoint to);
  // How long of [from, to) the trainer was in this segment.
  Duration within(Segment segment, TimePoint from, TimePoint to) const;
  // How long of [from, to) the process ran, which is observed.
  Duration ran(TimePoint from, TimePoint to);
  Duration& idle(IdleCause cause) { return idle_[static_cast<size_t>(cause)]; }

  TimePoint begin_;
  TimePoint last_end_;
  const bool peers_late_;
  std::optional<BusyInterval> newest_;    // where peers_late_
  Duration owed_{};                       // of waits for peers that no step has had yet
  std::deque<SegmentInterval> segments_;  // those that end after last_end_
  // Sums in the clock's own integers: nothing is lost to rounding, however long the run.
  Duration paused_{};
  Duration busy_{};
  Duration copy_{};
  std::array<Duration, kIdleCauses> idle_{};
  int64_t steps_ = 0;
  // For au(), which leaves the first step out.
  TimePoint first_end_;
  Duration first_paused_{};
  Duration first_busy_{};
};

}  // namespace stoker
