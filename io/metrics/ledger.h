#pragma once

#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "io/metrics/clock.h"

namespace stoker {

// What the trainer's thread is doing. Exclusive and exhaustive. paused: nothing, for the whole
// process stood still, stopped by a signal, frozen with its container, or without a processor; this
// time is taken out of the segment that it fell into. A further segment is one more enumerator here
// and a name in segment_name().
enum class Segment {
  data_wait,
  h2d,
  compute,
  allreduce,
  checkpoint_stall,
  eval,
  log,
  other,
  paused
};
inline constexpr size_t kSegments = 9;
// "data_wait": the name in every sink. Valid for ever. Any thread.
const char* segment_name(Segment segment);

// One stretch of a segment. A value.
struct SegmentInterval {
  Segment segment;
  TimePoint begin;
  TimePoint end;
};

// What the trainer's thread is doing now, and for how long it has done what: written by the ledger,
// read by any thread.
//
// It knows pauses by a thread that has nothing to do but to call beat() every kBeat: if nobody has
// called anything here for kLeastPause, the process stood still. Shorter pauses are not seen, and
// one is seen up to kBeat too long. Without that thread there are no pauses.
class LiveSegments {
 public:
  struct Reading {
    Segment segment = Segment::other;
    // Seconds by segment since the loop began, those of the segment under way included. None of
    // them ever shrinks within a loop.
    std::array<double, kSegments> spent_s{};
  };
  Reading read() const;

  static constexpr std::chrono::milliseconds kBeat{50};
  static constexpr std::chrono::seconds kLeastPause{1};
  // The process runs at this moment. Does nothing where no loop runs.
  void beat();
  // When the process stood still in the segment under way, up to `end`; in order.
  std::vector<SegmentInterval> pauses(TimePoint end) const;

  using Spent = std::array<Clock::duration, kSegments>;
  // spent: without the segment under way, which began at `since`.
  void begin(Segment segment, TimePoint since, const Spent& spent);
  // No segment is under way any more: the loop has ended.
  void end(const Spent& spent);

 private:
  // The process runs at `now`, whoever says so. With the mutex held.
  void look(TimePoint now) const;

  mutable std::mutex mutex_;
  Segment segment_ = Segment::other;
  std::optional<TimePoint> since_;
  Spent spent_{};
  mutable std::optional<TimePoint> beat_;  // the last one; absent: there is no thread for it
  mutable std::vector<SegmentInterval> pauses_;
};

// Splits the wall time of the training loop into segments. The trainer's thread.
//
// Every interval has a reading of the clock at its begin and another at its end, and the loop's
// wall time has two of its own. What lies between the end of one interval and the begin of the next
// (where the thread may lose its core, too) is in no segment, so closure_error() is measured and
// not zero by construction.
//
//   ledger.begin();
//   for (...) {
//     ledger.switch_to(Segment::data_wait);  ... = loader.next();
//     ledger.switch_to(Segment::compute);    step(...);
//     ledger.switch_to(Segment::other);
//   }
//   ledger.end();
class StepLedger {
 public:
  // `now` always holds what the thread is doing, for other threads to read; it must outlive the
  // ledger.
  explicit StepLedger(LiveSegments& now) : now_(now) {}

  // Starts the loop, in `other`.
  void begin();
  // Ends the segment under way and begins another.
  void switch_to(Segment segment);
  // Ends the segment under way, and the loop. Nothing happens where no loop runs.
  void end();

  // When the loop began; only after begin().
  TimePoint begun() const { return wall_begin_; }
  // Seconds since begin(), or of the whole loop after end().
  double wall() const;
  // Seconds by segment since begin(), up to the last switch. A step or a window is the difference
  // of two calls.
  std::array<double, kSegments> totals() const;
  // |sum of the segments - wall| / wall, from begin() up to the last switch, and after end() for
  // the whole loop.
  double closure_error() const;
  // The intervals that ended since the last call, in order. Take them every few steps: they are
  // kept until then.
  std::vector<SegmentInterval> take_intervals() { return std::exchange(intervals_, {}); }

 private:
  // Adds an interval that has ended, without the pauses in it, and these to the sums and to what
  // take_intervals() gives.
  void keep(const SegmentInterval& interval);

  LiveSegments& now_;
  bool running_ = false;

  TimePoint wall_begin_;
  TimePoint wall_end_;
  Segment segment_ = Segment::other;
  TimePoint since_;
  LiveSegments::Spent totals_{};
  std::vector<SegmentInterval> intervals_;
};

}  // namespace stoker
