#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "io/metrics/clock.h"
#include "io/metrics/ledger.h"

namespace stoker {

// Why the device had nothing to do.
enum class IdleCause { data, h2d, host };
inline constexpr size_t kIdleCauses = 3;
const char* idle_cause_name(IdleCause cause);

// The device's time since the loop began, up to the end of its last finished step. Seconds;
// busy + sum(idle) == observed.
struct DeviceTime {
  double observed = 0;
  double busy = 0;
  double copy = 0;  // of batches to the device; beside busy, on its own engine
  std::array<double, kIdleCauses> idle{};
};

// Says by what the host was doing why the device was idle between two steps. One thread at a time.
//
// 1. Until a step was submitted, the device waited for the host. That part of the gap is
// intersected
//    with the trainer's segments: data_wait -> data, h2d -> h2d, all others -> host.
// 2. From then until the step started, it waited for the batch's copy -> h2d.
// 3. Idle time inside a step is not seen, so on a GPU the sum is a lower bound.
class IdleAttribution {
 public:
  // Observation begins with the loop, so that filling the pipeline counts as idle time, too.
  explicit IdleAttribution(TimePoint begin) : begin_(begin), last_end_(begin) {}

  // Segments in order, and all that began before a step was submitted ahead of that step.
  void add_segment(const SegmentInterval& interval) { segments_.push_back(interval); }
  // Steps in order.
  void add_step(const BusyInterval& step);

  const DeviceTime& total() const { return total_; }
  // MLPerf Storage's accelerator utilisation: busy / observed, both without the first step and what
  // came before it. Absent before the second step.
  std::optional<double> au() const;

 private:
  void attribute(TimePoint from, TimePoint to);

  TimePoint begin_;
  TimePoint last_end_;
  std::deque<SegmentInterval> segments_;  // those that end after last_end_
  DeviceTime total_;
  int64_t steps_ = 0;
  DeviceTime first_;
};

}  // namespace stoker
