#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/drain/drain_controller.h"
#include "io/metrics/checkpoint_meter.h"
#include "io/metrics/clock.h"
#include "io/metrics/run_totals.h"

namespace stoker {

// Holds the threads of a drain to checkpoint.drain_limit: a fixed one, or what a DrainController
// makes of the trainer's waits for data. Copying and reading back count alike, as both take their
// share of the tier. Any thread; the trainer takes none of its locks.
class DrainPace {
 public:
  // Where what they refer to is there, it must outlive this. Without `input` there is no training
  // to give way to, and drain_limit: auto is as none.
  struct Inputs {
    const InputWait* input = nullptr;
    CheckpointMeter* meter = nullptr;
    // When the next save is due; absent: not known.
    std::function<std::optional<TimePoint>()> next_save;
  };
  DrainPace(const std::optional<DrainLimit>& limit, Inputs inputs);

  bool limited() const { return follows_ || limit_ < std::numeric_limits<double>::infinity(); }
  // It wants rested() now and then.
  bool follows() const { return follows_; }
  // Nothing was drained since the last call, or since the end of a drain.
  void rested();

  // A drain begins. bytes: how many it will move, with those of the sets that wait behind it.
  // They are to be through at 9/10 of the time until the next save, for a set also takes syncs.
  void begin(double bytes);
  // So many bytes were moved. Blocks until the limit allows for them, or go_on() says no; it is
  // asked 200 times a second.
  void passed(uint64_t bytes, const std::function<bool()>& go_on);
  // It has ended. In words, for the log: the limits that it had and why. Empty: there was none.
  std::string end();
  // Training has ended, so that there is nothing to give way to; or has not. A fixed limit stays.
  void free(bool free);

 private:
  void tick(TimePoint now);
  void decide(TimePoint now);
  double limit() const;
  DrainController::Left left(TimePoint now);
  InputTime input_since();
  void tell(std::optional<DrainDecision> decision);

  const Inputs inputs_;
  const bool follows_;
  const double limit_;  // the fixed one; infinite: none
  std::mutex mutex_;
  DrainController controller_;
  bool free_ = false;
  bool draining_ = false;
  InputWait::Reading read_;
  TimePoint ticked_;
  double owed_ = 0;  // bytes that were moved before the limit allows for them
  double left_ = 0;  // bytes
  std::optional<TimePoint> next_save_;
  TimePoint due_;
  TimePoint decided_;
  bool waited_ = false;  // for the limit, since decided_
  // The drain under way, for end().
  double least_ = 0;
  double most_ = 0;
  int64_t lowered_ = 0;
  int64_t hurried_ = 0;
};

}  // namespace stoker
