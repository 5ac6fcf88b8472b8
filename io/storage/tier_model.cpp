#include "io/storage/tier_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

// Virtual time:
//
// 1. Every thread has a virtual clock. It is the real one, less what the scheduler added to the
//    thread's last sleep. So a thousand short operations take a thousand times the cost of one, not
//    a thousand times that and a wake-up (50 us and more).
// 2. The device is one number: when it will be idle. An operation that a thread begins at `arrival`
//    occupies it from the later of the two, for latency + bytes / bandwidth. Idle time is gone: the
//    number never lies before the arrival.
// 3. The thread goes on at the end of that, or when the operation itself has ended, whichever comes
//    last. An operation that was slower than its model is no lateness and is not made good.

namespace stoker {
namespace {

// After a longer one (a stopped process) there is nothing to make good.
constexpr Clock::duration kMaxLate = std::chrono::milliseconds(20);

Clock::duration time_of(uint64_t bytes, double bytes_per_s) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_s));
}

}  // namespace

TierModel::TierModel(TierCosts costs, TierClock clock)
    : costs_(costs), clock_(std::move(clock)), idle_from_(clock_.now()) {}

Clock::duration TierModel::cost(Kind kind, uint64_t bytes) const {
  switch (kind) {
    case Kind::read:
      return costs_.read_latency + time_of(bytes, costs_.read_bytes_per_s);
    case Kind::write:
      return costs_.write_latency + time_of(bytes, costs_.write_bytes_per_s);
    case Kind::metadata:
      break;
  }
  return costs_.metadata_latency;
}

void TierModel::finish(TimePoint begun, Kind kind, uint64_t bytes) {
  const TimePoint done = clock_.now();
  const auto self = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  const Clock::duration late = late_[self];
  idle_from_ = std::max(idle_from_, begun - late) + cost(kind, bytes);
  const TimePoint end = std::max(idle_from_, done - late);
  lock.unlock();
  if (end > done) clock_.sleep_until(end);
  const Clock::duration now_late = clock_.now() - end;
  lock.lock();
  late_[self] = now_late > kMaxLate ? Clock::duration{} : now_late;
}

int64_t TierLayer::call(const FileCall& call, const Next& next) {
  const TimePoint begun = model_->begin();
  const int64_t result = next(call);
  const auto bytes = static_cast<uint64_t>(std::max<int64_t>(result, 0));
  if (call.op == FileCall::Op::read) {
    model_->finish(begun, TierModel::Kind::read, bytes);
  } else if (call.op == FileCall::Op::write) {
    model_->finish(begun, TierModel::Kind::write, bytes);
  } else {
    model_->finish(begun, TierModel::Kind::metadata);
  }
  return result;
}

}  // namespace stoker
