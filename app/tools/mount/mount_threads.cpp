#include "app/tools/mount/mount_threads.h"

#include <sys/prctl.h>

#include <utility>

namespace stoker {

ReadPool::ReadPool(int64_t threads, bool realtime, std::function<void(MountRequest&)> fetch)
    : realtime_(realtime), fetch_(std::move(fetch)) {
  for (int64_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ReadPool::~ReadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
}

void ReadPool::push(MountRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(&request);
  }
  changed_.notify_one();
}

void ReadPool::work() {
  if (realtime_) take_realtime_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    MountRequest* const request = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    fetch_(*request);
    lock.lock();
  }
}

ReplyTimer::ReplyTimer(std::function<void(const ReplySchedule::Due&)> due)
    : due_(std::move(due)), thread_([this] { serve(); }) {}

ReplyTimer::~ReplyTimer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
}

void ReplyTimer::set_cost(const OwnCost& cost) {
  const std::lock_guard lock(mutex_);
  schedule_.set_cost(cost);
}

void ReplyTimer::arrive(MountRequest* request, pid_t reader, TierModel& model,
                        const TierOperation& operation) {
  const TimePoint now = Clock::now();
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    const auto before = schedule_.next();
    schedule_.arrive(request, reader, model, operation, now);
    first = !before || *schedule_.next() < *before;
  }
  if (first) changed_.notify_one();
}

void ReplyTimer::answering(const ReplySchedule::Due& due, Clock::duration overrun) {
  const std::lock_guard lock(mutex_);
  schedule_.answering(due, overrun);
}

void ReplyTimer::answered(const ReplySchedule::Due& due, TimePoint sent) {
  const std::lock_guard lock(mutex_);
  schedule_.answered(due, sent);
}

void ReplyTimer::serve() {
  // The kernel may else wake us up 50 us late, to do several things at once.
  ::prctl(PR_SET_TIMERSLACK, 1);
  take_realtime_priority();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (const auto due = schedule_.pop(Clock::now())) {
      lock.unlock();
      due_(*due);
      lock.lock();
    } else if (const auto next = schedule_.next()) {
      changed_.wait_until(lock, *next);
    } else {
      changed_.wait(lock);
    }
  }
}

}  // namespace stoker
