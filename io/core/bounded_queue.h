#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "io/core/threads.h"

namespace stoker {

// A first-in first-out queue between producers and consumers that holds at most `capacity` items.
//
// Any thread. close() ends it from either side and wakes everybody: producers then get false,
// consumers get the items that are still in it and then the end, or the error that close() was
// given. A queue cannot be opened again. It must outlive all threads that use it.
//
// Items are moved in and out; T need not be copyable. Items that are left when the queue is
// destroyed are destroyed with it. Each producer's items keep their order; those of several
// producers mix. Meant for batches and files, some hundred a second: every call takes the one mutex
// and wakes all waiters.
template <class T>
class BoundedQueue {
 public:
  // Capacity in items, at least 1: a queue of 0 would block every push.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Puts an item at the end. Blocks while the queue is full. False: it was closed, before or
  // meanwhile, and the item was dropped: stop producing.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }

  // Blocks while the queue is full; with one producer the next push() then does not block. False:
  // it was closed.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    return !closed_;
  }

  // Takes the first item. Blocks while the queue is empty and open. Empty: it is closed and
  // drained. Rethrows the error of close() instead, once the items before it are taken; each
  // consumer gets it. Interrupted (io/core/threads.h): nothing was taken.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    wait_interruptibly(changed_, lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return std::nullopt;
    }
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  // Ends the queue. `error` is rethrown by every pop() once the items are drained. Only the first
  // call counts. Never blocks.
  void close(std::exception_ptr error = nullptr) {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<T> items_;
  std::exception_ptr error_;
  bool closed_ = false;
};

}  // namespace stoker
