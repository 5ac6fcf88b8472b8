#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

#include "io/metrics/clock.h"

namespace stoker {

// Waiting for another thread that works on a tier, but not for ever: the wait also ends when that
// thread has made no step for `hang`, in which the process itself ran, or when `deadline` says that
// time is up. Any thread. Owns the mutex that guards what both threads share.
//
// A thread in a system call cannot be interrupted. So a wait that ends early ends nothing: the
// working thread may still come back and go on, and its data must live until it does.
class ProgressWatch {
 public:
  // When the process has to end; absent: not known yet. Asked 50 times a second by each who waits,
  // with the mutex held, so it must not take long nor call back.
  using Deadline = std::function<std::optional<TimePoint>()>;
  ProgressWatch(double hang_seconds, Deadline deadline)
      : hang_(from_seconds(hang_seconds)), deadline_(std::move(deadline)) {}

  // Hold it for the shared state; the calls below that take a lock want this one.
  std::mutex& mutex() { return mutex_; }

  // By the working thread: something was done.
  void step() {
    {
      const std::lock_guard lock(mutex_);
      last_ = Clock::now();
    }
    changed_.notify_all();
  }
  // By anybody: the shared state has changed. This is no progress: a thread that hangs goes on
  // hanging.
  void notify() { changed_.notify_all(); }
  // From now on the thread works and may hang (or it rests). With the mutex held.
  void set_busy(bool busy) {
    busy_ = busy;
    last_ = Clock::now();
    changed_.notify_all();
  }
  // Busy and without a step for `hang`. With the mutex held.
  bool hung() const { return busy_ && Clock::now() - last_ > hang_; }

  // For the working thread itself: until `done`.
  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, const Done& done) {
    changed_.wait(lock, done);
  }
  // The same, but no longer than until `limit`.
  template <class Done>
  void wait_until(std::unique_lock<std::mutex>& lock, TimePoint limit, const Done& done) {
    changed_.wait_until(lock, limit, done);
  }
  // By everybody else: until `done`. False: the thread hangs, or time is up.
  template <class Done>
  bool wait_while_moving(std::unique_lock<std::mutex>& lock, const Done& done) {
    constexpr auto kPoll = std::chrono::milliseconds(20);  // a signal wakes nobody
    constexpr auto kLate = std::chrono::seconds(1);
    while (!done()) {
      const std::optional<TimePoint> deadline = deadline_ ? deadline_() : std::nullopt;
      const TimePoint now = Clock::now();
      if (hung() || (deadline && now >= *deadline)) return false;
      changed_.wait_for(lock, kPoll);
      // Whoever wakes up much too late stood still, and so did the thread that works.
      const Clock::duration late = Clock::now() - now - kPoll;
      if (late > kLate) last_ = std::min(last_ + late, Clock::now());
    }
    return true;
  }

 private:
  const Clock::duration hang_;
  const Deadline deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  TimePoint last_ = Clock::now();
};

}  // namespace stoker
