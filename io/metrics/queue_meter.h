#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "io/metrics/clock.h"

namespace stoker {

// How full a queue of batches is, and for how long it was empty or full. Any thread; it takes a
// lock, once or twice per batch. Made by LoaderMeter::add_queue() and kept by the loader whose
// queue it is.
class QueueMeter {
 public:
  // A reading. A value.
  struct State {
    // "ready" or "device": the place of the queue on the way to the trainer.
    std::string name;
    // Now, and at most.
    int64_t items = 0;
    int64_t capacity = 0;
    // Seconds. A queue is empty or full from the call that made it so; observed_s since it was
    // made.
    double empty_s = 0;
    double full_s = 0;
    double observed_s = 0;
    // Items, integrated over time: divided by observed_s, the mean number of them.
    double item_seconds = 0;
  };

  // capacity: how many items fit, above 0; constant.
  QueueMeter(std::string name, int64_t capacity) : state_{std::move(name), 0, capacity} {}

  // Call it after an item was put into the queue.
  void put() { add(1); }
  // Call it after `items` items were taken out, and also when the rest is thrown away.
  void get(int64_t items = 1) { add(-items); }

  // Items / capacity, now.
  double fill() const {
    const std::lock_guard lock(mutex_);
    return static_cast<double>(state_.items) / static_cast<double>(state_.capacity);
  }

  // What was counted until now: the time since the last put() or get() is in it.
  State state() const {
    const std::lock_guard lock(mutex_);
    State result = state_;
    pass(result, Clock::now() - since_);
    return result;
  }

 private:
  // Adds the time in which nothing was put or taken.
  static void pass(State& state, Clock::duration took) {
    const double time = seconds(took);
    state.observed_s += time;
    state.item_seconds += time * static_cast<double>(state.items);
    if (state.items <= 0) state.empty_s += time;
    if (state.items >= state.capacity) state.full_s += time;
  }

  // Below 0: takes.
  void add(int64_t items) {
    const std::lock_guard lock(mutex_);
    const TimePoint now = Clock::now();
    pass(state_, now - since_);
    since_ = now;
    state_.items += items;
  }

  mutable std::mutex mutex_;
  State state_;
  // When the last put() or get() was.
  TimePoint since_ = Clock::now();
};

}  // namespace stoker
