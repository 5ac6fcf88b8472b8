#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stoker {

// What this process has asked of the C library since it began, all threads.
struct CallCounts {
  uint64_t allocations = 0;          // calls that gave new memory, libjpeg's own included
  uint64_t libjpeg_allocations = 0;  // those of them that libjpeg itself made
  uint64_t bytes_moved = 0;          // by calls of memcpy and memmove
};

// Absent: nothing counts in this process (LD_PRELOAD does not name call_counter()). Any thread.
std::optional<CallCounts> call_counts();

// The library that counts in the processes which LD_PRELOAD names it for. Absent: it is not beside
// libstoker (a sanitizer build).
std::optional<std::string> call_counter();

}  // namespace stoker
