#pragma once

#include <mutex>

namespace stoker {

// A mutex for so few instructions that who waits for it looks again for a while before it sleeps:
// waking a thread takes longer. For std::lock_guard. Any thread.
class SpinningMutex {
 public:
  void lock() {
    for (int look = 0; look < kLooks; ++look) {
      if (mutex_.try_lock()) return;
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kLooks = 100;
  std::mutex mutex_;
};

}  // namespace stoker
