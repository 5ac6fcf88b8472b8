#include "io/metrics/busy_clock.h"

#include <chrono>

namespace stoker {
namespace {

constexpr int kTickBits = 6;
constexpr int kSinceBits = 48;
constexpr uint64_t kOne = 1ull << kSinceBits;
constexpr uint64_t kSince = kOne - 1;

}  // namespace

uint64_t BusyClock::ticks(TimePoint time) const {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time - origin_).count();
  return ns < 0 ? 0 : static_cast<uint64_t>(ns) >> kTickBits;
}

void BusyClock::begin(TimePoint now) {
  uint64_t state = state_.load(std::memory_order_relaxed), next;
  do {
    next = state < kOne ? kOne | (ticks(now) & kSince) : state + kOne;
  } while (!state_.compare_exchange_weak(state, next, std::memory_order_relaxed));
}

void BusyClock::end(TimePoint now) {
  const uint64_t before = state_.fetch_sub(kOne, std::memory_order_relaxed);
  const uint64_t until = ticks(now), since = before & kSince;
  if (before >> kSinceBits == 1 && until > since) {
    total_.fetch_add(until - since, std::memory_order_relaxed);
  }
}

Clock::duration BusyClock::total(TimePoint now) const {
  const uint64_t state = state_.load(std::memory_order_relaxed);
  uint64_t total = total_.load(std::memory_order_relaxed);
  const uint64_t until = ticks(now), since = state & kSince;
  if (state >= kOne && until > since) total += until - since;
  return std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(total << kTickBits));
}

}  // namespace stoker
