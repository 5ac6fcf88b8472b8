#pragma once

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "io/profiler/io_recorder.h"

namespace stoker {

// Whether the wrappers tell the recorder of calls; where not, they only pass them on. For the
// wrappers themselves: these names do not leave the library, so that each is one load.

[[gnu::visibility("hidden")]] extern std::atomic<bool> counting;
// Raised each time that counting begins: what was remembered of calls before that is stale.
[[gnu::visibility("hidden")]] extern std::atomic<uint32_t> counting_period;
// The process that counts.
[[gnu::visibility("hidden")]] extern std::atomic<pid_t> counting_process;
// How many OwnIo of the thread live.
[[gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] extern constinit thread_local int own_io_depth;

inline bool counts_here() { return counting.load(std::memory_order_relaxed) && own_io_depth == 0; }

// False in the child of a vfork, which shares the memory of its parent. A system call.
inline bool in_counting_process() {
  return getpid() == counting_process.load(std::memory_order_relaxed);
}

inline int64_t call_clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

inline IoRecorder& recorder() { return IoRecorder::instance(); }

// While one lives, the calls of its thread do not count as I/O of the program: the profiler's own
// files, and what it asks of /proc. May be nested. Any thread; takes no lock.
class OwnIo {
 public:
  OwnIo();
  ~OwnIo();
  OwnIo(const OwnIo&) = delete;
  OwnIo& operator=(const OwnIo&) = delete;
};

}  // namespace stoker
