#pragma once

#include <cstdint>
#include <optional>

#include "app/base/call_counts.h"

namespace stoker {

// What this process, all threads, has used since it began; subtract two for the time between.
// Absent: this system does not say.
struct ProcessUse {
  double cpu_s = 0;                    // user and system
  int64_t voluntary_switches = 0;      // a thread had to wait
  int64_t involuntary_switches = 0;    // a thread had to make room for another
  std::optional<uint64_t> read_bytes;  // that read calls copied from the kernel
  std::optional<CallCounts> calls;     // only where they are counted (app/base/call_counts.h)
};

// Any thread.
ProcessUse process_use();

// Memory of this process in bytes. Any thread.
struct ProcessMemory {
  std::optional<uint64_t> peak;          // the most that was resident at once (VmHWM)
  std::optional<uint64_t> proportional;  // now; pages shared with other processes by their share
};
ProcessMemory process_memory();

}  // namespace stoker
