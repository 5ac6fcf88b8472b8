#pragma once

#include <pthread.h>
#include <sched.h>

namespace stoker {

// The calling thread goes first where this process may say so (root, CAP_SYS_NICE): a device does
// not wait for a processor that its readers keep busy. False: it may not.
inline bool go_first() {
  sched_param priority{};
  priority.sched_priority = 1;
  return pthread_setschedparam(pthread_self(), SCHED_RR | SCHED_RESET_ON_FORK, &priority) == 0;
}

// The calling thread goes first, where it may, until the end of the scope.
class FirstScope {
 public:
  FirstScope() {
    pthread_getschedparam(pthread_self(), &policy_, &before_);
    go_first();
  }
  ~FirstScope() { pthread_setschedparam(pthread_self(), policy_, &before_); }
  FirstScope(const FirstScope&) = delete;
  FirstScope& operator=(const FirstScope&) = delete;

 private:
  int policy_ = SCHED_OTHER;
  sched_param before_{};
};

}  // namespace stoker
