#include "app/tools/mount/read_pool.h"

#include <utility>

#include "app/tools/mount/realtime_priority.h"

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

}  // namespace stoker
