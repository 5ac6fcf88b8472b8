#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace stoker {

// A mutex for few instructions: who waits for it looks again for a while before it sleeps, since
// waking a thread takes longer. 4 bytes, zero where it is free, and no library behind it, so that
// it may lie in memory that processes share. For std::lock_guard. Any thread.
class SmallMutex {
 public:
  void lock() {
    for (int look = 0; look < kLooks; ++look) {
      uint32_t free = kFree;
      if (state_.compare_exchange_weak(free, kLocked, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return;
      }
    }
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) futex(FUTEX_WAIT);
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) futex(FUTEX_WAKE);
  }

 private:
  static constexpr uint32_t kFree = 0, kLocked = 1, kAwaited = 2;
  static constexpr int kLooks = 100;

  // Sleeps where the lock is still awaited; or wakes one that does.
  void futex(int operation) {
    const int error = errno;
    const uint32_t value = operation == FUTEX_WAIT ? kAwaited : 1;
    ::syscall(SYS_futex, &state_, operation, value, nullptr, nullptr, 0);
    errno = error;
  }

  std::atomic<uint32_t> state_{kFree};
};

}  // namespace stoker
