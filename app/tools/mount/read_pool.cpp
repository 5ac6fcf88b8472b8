#include "app/tools/mount/read_pool.h"

#include <utility>

#include "app/tools/mount/prompt_thread.h"

namespace stoker {

ReadPool::ReadPool(int64_t threads, bool first, std::function<void(MountRequest&)> fetch)
    : first_(first), fetch_(std::move(fetch)) {
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
  if (first_) go_first();
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
