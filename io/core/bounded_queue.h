#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace stoker {

// A queue between producers and consumers that holds at most `capacity` items. Any thread.
// close() ends it from either side; with an error, the consumer gets the items that are in it and
// then the error.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Blocks while the queue is full. False: it was closed, and the item was dropped.
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

  // Blocks while the queue is empty. Empty: closed and drained. Rethrows the error of close().
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return std::nullopt;
    }
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

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
  std::condition_variable changed_;
  std::deque<T> items_;
  std::exception_ptr error_;
  bool closed_ = false;
};

}  // namespace stoker
