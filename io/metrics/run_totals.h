#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>

#include "io/metrics/idle.h"
#include "io/metrics/ledger.h"

namespace stoker {

// What the parts of steps took; only where the trainer's thread computes them itself. A value.
struct PassTimes {
  double forward_s = 0;   // with the loss
  double backward_s = 0;  // with the exchange of gradients that runs beside it and after it
  double update_s = 0;
};

// Where the training loop stands. A value. Sums are of this process, times are seconds since the
// loop began.
struct RunTotals {
  // Finished steps and epochs, those before a resume included; and the epoch of the last step.
  int64_t steps = 0;
  int64_t epochs = 0;
  int64_t epoch = 0;
  // Samples of finished steps.
  int64_t images = 0;
  // Wall time of the loop, evaluations included; segments add up to it, but for closure_error.
  double wall_s = 0;
  std::array<double, kSegments> segments{};
  // As the device's clock saw it, which may be some steps late: its observed time ends with a step
  // that has finished there.
  DeviceTime device;
  // Absent: the device's steps cannot be divided.
  std::optional<PassTimes> pass;
  // 0 to 1. Absent before the second step, or where the device is not observed.
  std::optional<double> au;
  // |sum of the segments - wall_s| / wall_s. Absent until the loop has ended.
  std::optional<double> closure_error;
};
// What passed between the two: sums are subtracted, the rest is of `now`. `before` is an older
// value of the same run.
RunTotals operator-(const RunTotals& now, const RunTotals& before);

// How long the trainer trained between two moments; how much of that it waited for data; and how
// full the queue of batches before it was, 0 to 1, integrated over that time (0 where there is no
// queue). Seconds. A value.
struct InputTime {
  double trained_s = 0;
  double waited_s = 0;
  double filled_s = 0;
};

// How long the trainer has waited for data, for those who give way to it: they may be threads of
// the lowest priority, so that the trainer must never wait for a lock of theirs. One thread
// writes, after every step; any thread reads, and sees time and wait of one step (the queue may be
// a step ahead).
class InputWait {
 public:
  // Adds a step, or what passed since the last one. Evaluations and checkpoints do not count.
  void add(const InputTime& step) {
    sum_.trained_s += step.trained_s;
    sum_.waited_s += step.waited_s;
    sum_.filled_s += step.filled_s;
    filled_us_.store(micros(sum_.filled_s), std::memory_order_relaxed);
    time_.store({micros(sum_.trained_s), micros(sum_.waited_s)}, std::memory_order_release);
  }

  // Where it stood at a moment: microseconds, modulo 2^32, which are 71 minutes.
  struct Reading {
    uint32_t trained_us = 0;
    uint32_t waited_us = 0;
    uint32_t filled_us = 0;
    bool operator==(const Reading&) const = default;
  };
  Reading read() const {
    const Time time = time_.load(std::memory_order_acquire);
    return {time.trained_us, time.waited_us, filled_us_.load(std::memory_order_relaxed)};
  }

 private:
  struct alignas(uint64_t) Time {  // without it, clang takes it for too large to be one store
    uint32_t trained_us = 0;
    uint32_t waited_us = 0;
  };
  static uint32_t micros(double s) {
    return static_cast<uint32_t>(static_cast<uint64_t>(std::llround(1e6 * s)));
  }
  InputTime sum_;  // the writer's
  std::atomic<Time> time_{};
  std::atomic<uint32_t> filled_us_{0};
  static_assert(std::atomic<Time>::is_always_lock_free);
};

// What passed between two readings, which lie less than 71 minutes of training apart.
inline InputTime operator-(const InputWait::Reading& now, const InputWait::Reading& before) {
  return {1e-6 * (now.trained_us - before.trained_us), 1e-6 * (now.waited_us - before.waited_us),
          1e-6 * (now.filled_us - before.filled_us)};
}

}  // namespace stoker
