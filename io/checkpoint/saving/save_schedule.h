#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/checkpointer.h"
#include "io/core/ranks/rank_group.h"
#include "io/metrics/clock.h"

namespace stoker {

// When the next save is due, by what the options say and how long steps took since the last one (or
// since the first offer). A value; pure.
class SaveRhythm {
 public:
  explicit SaveRhythm(const CheckpointOptions& options);
  // For every offer, in their order; begun: it was saved. Where many of one run's processes save
  // together, offers have the first one's clock, and this its own.
  void offered(int64_t step, TimePoint now, bool begun);
  // The earliest of what every_steps, every_seconds and every_epochs say; an epoch is taken to
  // last as long as there was between the last two saves. Absent: not known yet, or no rule says.
  std::optional<TimePoint> next() const { return next_; }

 private:
  struct Mark {
    int64_t step = 0;
    TimePoint time;
  };
  const std::optional<int64_t> every_steps_;
  const std::optional<double> every_seconds_;
  const bool every_epochs_;
  std::optional<Mark> last_;  // save, or first offer
  std::optional<TimePoint> next_;
};

// When a checkpoint is due, and when the process has to end. The trainer's thread, where nothing
// else is said.
class SaveSchedule {
 public:
  // group, and what stop_requested refers to, must outlive it.
  SaveSchedule(const CheckpointOptions& options,
               std::function<std::optional<TimePoint>()> stop_requested, RankGroup& group);

  // Whether the options' rules ask for a checkpoint of this offer.
  bool due(const CheckpointOffer& offer);
  // For every offer, in their order: whether one was due.
  void offered(int64_t step, bool due);
  // A save of this offer has begun.
  void began(const CheckpointOffer& offer);
  // The step of the newest save that has begun, or of the set that the run goes on from, where that
  // need not be saved again. -1: there is no such step.
  int64_t last_step() const { return last_step_; }
  void set_last_step(int64_t step) { last_step_ = step; }

  // When the process has to end: grace_seconds after it was asked to, and at once where a rank is
  // gone, for nobody waits for what cannot be finished. Absent: not known yet. Any thread.
  std::optional<TimePoint> deadline() const;
  // Why no save is begun any more: the deadline is over, or nobody could finish the set. Empty: it
  // is begun, however long the saves before it took. Nobody knows how long it will take, and one
  // that the deadline cuts off does no harm.
  std::string too_late(int64_t step) const;
  // When the next save is due, for the drain. Absent: not known. Any thread.
  std::optional<TimePoint> next_save() const;

 private:
  const CheckpointOptions options_;
  const std::function<std::optional<TimePoint>()> stop_requested_;
  const RankGroup& group_;
  int64_t last_step_ = -1;
  std::optional<TimePoint> last_begin_;  // or the start; of the offers' clock
  SaveRhythm rhythm_;
  std::atomic<Clock::rep> next_save_{0};  // 0: not known
};

}  // namespace stoker
