#pragma once

#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "app/tools/mount/reply_schedule.h"

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

// Gives the calling thread real-time priority, because an emulated device must not wait for a
// processor that its readers keep busy. Returns false if this process may not do so (it needs root
// or CAP_SYS_NICE); the thread then keeps its priority.
inline bool take_realtime_priority() {
  sched_param priority{};
  priority.sched_priority = 1;
  return pthread_setschedparam(pthread_self(), SCHED_RR | SCHED_RESET_ON_FORK, &priority) == 0;
}

// The calling thread has real-time priority, if it is allowed, until the end of the scope.
class RealtimePriorityScope {
 public:
  RealtimePriorityScope() {
    pthread_getschedparam(pthread_self(), &policy_, &before_);
    take_realtime_priority();
  }
  ~RealtimePriorityScope() { pthread_setschedparam(pthread_self(), policy_, &before_); }
  RealtimePriorityScope(const RealtimePriorityScope&) = delete;
  RealtimePriorityScope& operator=(const RealtimePriorityScope&) = delete;

 private:
  int policy_ = SCHED_OTHER;
  sched_param before_{};
};

// A ReplySchedule with a thread that hands out what is due. Any thread.
class ReplyTimer {
 public:
  // `due` is called on the timer's thread, one request after the other; what it throws ends the
  // process. The thread is woken as precisely as the kernel can.
  explicit ReplyTimer(std::function<void(const ReplySchedule::Due&)> due);
  // Drops what is not due yet.
  ~ReplyTimer();
  ReplyTimer(const ReplyTimer&) = delete;
  ReplyTimer& operator=(const ReplyTimer&) = delete;

  // These do what those of the schedule do.
  void set_cost(const OwnCost& cost);
  void arrive(MountRequest* request, pid_t reader, TierModel& model,
              const TierOperation& operation);
  void answering(const ReplySchedule::Due& due, Clock::duration overrun);
  void answered(const ReplySchedule::Due& due, TimePoint sent);

 private:
  void serve();

  const std::function<void(const ReplySchedule::Due&)> due_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ReplySchedule schedule_;
  bool stop_ = false;
  std::jthread thread_;
};

}  // namespace stoker
