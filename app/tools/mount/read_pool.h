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
  // `fetch` is called on several threads at once; what it throws ends the process. first: they go
  // before other threads of the machine, where they may (go_first()).
  ReadPool(int64_t threads, bool first, std::function<void(MountRequest&)> fetch);
  // What has not begun never will.
  ~ReadPool();
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  void push(MountRequest& request);

 private:
  void work();

  const bool first_;
  const std::function<void(MountRequest&)> fetch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MountRequest*> waiting_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace stoker
