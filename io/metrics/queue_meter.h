#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "io/metrics/clock.h"

namespace stoker {

// How full a queue of batches is, and for how long it was empty or full. Any thread; it takes a
// lock, once or twice per batch.
class QueueMeter {
 public:
  // A reading. A value.
  struct State {
    std::string name;
    int64_t items = 0;
    int64_t capacity = 0;
    double empty_s = 0;
    double full_s = 0;
    double observed_s = 0;
    double item_seconds = 0;  // items, integrated over time
  };

  QueueMeter(std::string name, int64_t capacity) : state_{std::move(name), 0, capacity} {}

  void put() { add(1); }
  void get(int64_t items = 1) { add(-items); }

  // Items / capacity, now.
  double fill() const {
    const std::lock_guard lock(mutex_);
    return static_cast<double>(state_.items) / static_cast<double>(state_.capacity);
  }

  State state() const {
    const std::lock_guard lock(mutex_);
    State result = state_;
    pass(result, Clock::now() - since_);
    return result;
  }

 private:
  static void pass(State& state, Clock::duration took) {
    const double time = seconds(took);
    state.observed_s += time;
    state.item_seconds += time * static_cast<double>(state.items);
    if (state.items <= 0) state.empty_s += time;
    if (state.items >= state.capacity) state.full_s += time;
  }

  void add(int64_t items) {
    const std::lock_guard lock(mutex_);
    const TimePoint now = Clock::now();
    pass(state_, now - since_);
    since_ = now;
    state_.items += items;
  }

  mutable std::mutex mutex_;
  State state_;
  TimePoint since_ = Clock::now();
};

}  // namespace stoker
