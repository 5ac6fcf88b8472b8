#pragma once

#include <chrono>

namespace stoker {

// Seconds since 1970, for people and other programs. Measure intervals by Clock. Any thread.
inline double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace stoker
