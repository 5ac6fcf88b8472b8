#include "io/loader/pinning.h"

#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>

namespace stoker {

Pinning::Pinning(const Notify& notify) {
  cpu_set_t allowed;
  // A machine with more cores than a cpu_set_t has places: workers stay unpinned.
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &allowed)) cores_.push_back(core);
    }
  }
  if (!notify) return;
  notify(cores_.empty() ? "loader: the cores of this process are not known: workers are not pinned"
                        : fmt::format("loader: workers are pinned to the cores {}, in turn",
                                      fmt::join(cores_, ", ")));
}

void Pinning::pin(int64_t number) const {
  if (cores_.empty()) return;
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(cores_[static_cast<size_t>(number) % cores_.size()], &core);
  pthread_setaffinity_np(pthread_self(), sizeof core, &core);
}

}  // namespace stoker
