#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace stoker {

struct MountRequest;

// Threads that fetch what requests ask for, in the order in which they came. Any thread.
class ReadPool {
 public:
  // `fetch` is called on several threads at once; what it throws ends the process. realtime: they
  // run with real-time priority if that is allowed.
  ReadPool(int64_t threads, bool realtime, std::function<void(MountRequest&)> fetch);
  // Drops what has not begun.
  ~ReadPool();
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  void push(MountRequest& request);

 private:
  void work();

  const bool realtime_;
  const std::function<void(MountRequest&)> fetch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MountRequest*> waiting_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace stoker
