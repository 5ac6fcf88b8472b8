#include "io/core/system/priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stoker {

void yield_to_all_others() {
  constexpr int kWhoThread = 1, kClassIdle = 3, kClassShift = 13;
  ::syscall(SYS_ioprio_set, kWhoThread, 0, kClassIdle << kClassShift);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
}

}  // namespace stoker
