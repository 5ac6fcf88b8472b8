#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/checkpointer.h"
#include "io/checkpoint/drain/save_rhythm.h"
#include "io/core/ranks/rank_group.h"
#include "io/metrics/clock.h"

namespace stoker {

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
