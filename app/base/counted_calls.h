#pragma once

#include <cstdint>

// What the library counted_calls.so has seen since the process began, by all threads. It is loaded
// by LD_PRELOAD into processes that are to be counted, and into no other: nothing links it.
extern "C" {

struct StokerCountedCalls {
  uint64_t allocations;          // calls that gave new memory, libjpeg's own included
  uint64_t libjpeg_allocations;  // those of them that libjpeg itself made
  uint64_t bytes_moved;          // by calls of memcpy and memmove; the compiler inlines small ones
};

// Any thread.
void stoker_counted_calls(StokerCountedCalls* out);
}
