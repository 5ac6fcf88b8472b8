#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/base/counted_calls.h"

namespace stoker {

// What this process, all threads, has used since it began; subtract two for the time between.
// Absent: this system does not say. A value.
struct ProcessUse {
  // User and system time, seconds.
  double cpu_s = 0;
  // Context switches: a thread had to wait, or to make room for another.
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  // Bytes that read calls copied from the kernel.
  std::optional<uint64_t> read_bytes;
  // Absent: nothing counts them in this process.
  std::optional<CallCounts> calls;
};

// Any thread. Never throws.
ProcessUse process_use();

// Memory of this process in bytes. A value. Absent: this system does not say.
struct ProcessMemory {
  // The largest memory that was resident at once (VmHWM).
  std::optional<uint64_t> peak;
  // The present memory. A page shared with other processes counts by its share (PSS).
  std::optional<uint64_t> proportional;
};
// Any thread. Never throws.
ProcessMemory process_memory();

// The path of the library that counts calls in the processes which LD_PRELOAD names it for.
// Absent: it is not beside libstoker (a sanitizer build).
std::optional<std::string> call_counter();

}  // namespace stoker
