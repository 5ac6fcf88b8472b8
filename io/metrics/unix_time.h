#pragma once

#include <chrono>

namespace stoker {

// For people and other programs; intervals are measured by Clock.
inline double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace stoker
