#include "io/metrics/thread_slots.h"

#include <chrono>
#include <vector>

#include "io/core/error.h"

namespace stoker {
namespace {

class Numbers {
 public:
  size_t take() {
    const std::lock_guard lock(mutex_);
    if (!returned_.empty()) {
      const size_t number = returned_.back();
      returned_.pop_back();
      return number;
    }
    if (next_ == kMaxThreads) throw Error(ExitCode::bug, "metrics: more than 4096 threads");
    return next_++;
  }
  void give_back(size_t number) {
    const std::lock_guard lock(mutex_);
    returned_.push_back(number);
  }

 private:
  std::mutex mutex_;
  std::vector<size_t> returned_;
  size_t next_ = 0;
};

// Shared, as a thread may end after the statics of the program are gone.
std::shared_ptr<Numbers> numbers() {
  static const auto all = std::make_shared<Numbers>();
  return all;
}

struct Holder {
  std::shared_ptr<Numbers> from = numbers();
  size_t number = from->take();
  ~Holder() { from->give_back(number); }
};

}  // namespace

size_t thread_number() {
  thread_local const Holder holder;
  return holder.number;
}

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
