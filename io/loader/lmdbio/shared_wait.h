#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

// Sleep on a word in memory that several processes share, until somebody changes it (futex(2)). Any
// thread.

namespace stoker {

// After so long whoever sleeps looks whether the others are still there.
inline constexpr long kLookNs = 50'000'000;

// Sleeps while the word is `value`. False: for so long.
inline bool shared_wait(uint32_t& word, uint32_t value) {
  const timespec most{0, kLookNs};
  return ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0) == 0 ||
         errno != ETIMEDOUT;
}

// Wakes all who sleep on it.
inline void shared_wake(uint32_t& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace stoker
