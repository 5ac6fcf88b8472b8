#include "io/metrics/tier_meter.h"

namespace stoker {

const char* to_string(TierOp op) {
  switch (op) {
    case TierOp::list:
      return "list";
    case TierOp::open:
      return "open";
    case TierOp::create:
      return "create";
    case TierOp::read:
      return "read";
    case TierOp::write:
      return "write";
    case TierOp::sync:
      return "sync";
    case TierOp::rename:
      return "rename";
    case TierOp::remove:
      return "remove";
    case TierOp::stat:
      return "stat";
    case TierOp::other:
      break;
  }
  return "other";
}

void TierMeter::finished(TierOp op, TimePoint begin, uint64_t bytes) {
  const TimePoint end = Clock::now();
  tallies_.here()[static_cast<size_t>(op)].add(end - begin, bytes);
  tracer_.record({to_string(op), "storage", begin, end, bytes, -1, name_.c_str()});
}

void TierMeter::failed(TierOp op, int errno_value) {
  const std::lock_guard lock(mutex_);
  ++errors_[{op, errno_value}];
}

int64_t TierMeter::spans() const {
  int64_t spans = 0;
  tallies_.each([&spans](const Tallies& tallies) {
    for (const Tally& op : tallies) spans += op.count();
  });
  return spans;
}

TierMeter::State TierMeter::state() const {
  State result{name_, type_, emulated_, in_flight_.load(std::memory_order_relaxed), {}, {}};
  tallies_.each([&result](const Tallies& tallies) {
    for (size_t i = 0; i < kTierOps; ++i) result.ops[i] += tallies[i].totals();
  });
  const std::lock_guard lock(mutex_);
  result.errors = errors_;
  return result;
}

}  // namespace stoker
