#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stoker {

// What a process has asked of the C library since it began, by all its threads. Counted by the
// library counted_calls.so, which replaces malloc, memcpy and their like. LD_PRELOAD loads it into
// processes that are to be counted, and into no other: nothing links it. A value.
struct CallCounts {
  uint64_t allocations;          // calls that gave new memory, libjpeg's own included
  uint64_t libjpeg_allocations;  // those of them that libjpeg itself made
  uint64_t bytes_moved;          // by calls of memcpy and memmove; the compiler inlines small ones
};

// The counts so far. Any thread. The function exists only if the library is loaded, so look it up
// by its name.
extern "C" void stoker_counted_calls(CallCounts* out);

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
