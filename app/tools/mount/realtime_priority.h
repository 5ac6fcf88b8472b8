#pragma once

#include <pthread.h>
#include <sched.h>

namespace stoker {

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

}  // namespace stoker
