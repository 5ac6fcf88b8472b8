#pragma once

#include <atomic>
#include <cstdint>

namespace stoker {

// How many more reads a tier may be sent: a bucket into which every read puts 3 % of one, and which
// holds 32. It begins empty, so that there are never more than 3 %. What is not urgent leaves half
// of it to what is. earn(): any thread; take(): one thread at a time.
class HedgeBudget {
 public:
  void earn() {
    if (left_.load(std::memory_order_relaxed) < kMost) {
      left_.fetch_add(kShare, std::memory_order_relaxed);
    }
  }
  // False: it has to wait.
  bool take(bool urgent) {
    if (left_.load(std::memory_order_relaxed) < (urgent ? kOne : kOne + kMost / 2)) return false;
    left_.fetch_sub(kOne, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr int64_t kOne = 100;  // a read, in hundredths
  static constexpr int64_t kShare = 3;
  static constexpr int64_t kMost = 32 * kOne;
  std::atomic<int64_t> left_{0};
};

}  // namespace stoker
