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

}  // namespace stoker
