#pragma once

#include <cstdint>

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

}  // namespace stoker
