#include "io/storage/emulated/tier_model.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

// Virtual time:
//
// 1. Every thread has a virtual clock. It is the real one, less what the scheduler added to the
//    thread's last sleep. So a thousand short operations take a thousand times the cost of one, not
//    a thousand times that and a wake-up (50 us and more).
// 2. An operation arrives at the device by its thread's virtual clock, and goes from one part of
//    the device to the next when the device says, not when its thread wakes up.
// 3. The thread sleeps before it asks for the next part, however short, so that the parts are asked
//    for in the order of their time: 4 KiB reads of an SSD by 8 threads were a third too slow when
//    waits below 100 us were left to the last sleep.
// 4. The thread goes on when the device is done, or when the operation itself has ended, whichever
//    comes last. An operation that was slower than its model does not count as late and is not made
//    good.

namespace stoker {
namespace {

// What a thread makes good at most; the rest of a longer stop is told as an overrun.
constexpr Clock::duration kMaxLate = std::chrono::milliseconds(20);
constexpr Clock::duration kEnoughToJudge = std::chrono::seconds(1);
constexpr double kTooSlow = 0.03;
constexpr const char* kCondition =
    "the tier below is slower than the emulated device (stoker_tiers_overrun_seconds_total): "
    "figures of this tier are too low";

TierOp tier_op(TierOperation::Kind kind) {
  using Kind = TierOperation::Kind;
  return kind == Kind::read ? TierOp::read : kind == Kind::write ? TierOp::write : TierOp::other;
}

// The part that gets somewhere next. Null: all are through.
TierPassage::Part* next_part(TierPassage& passage) {
  TierPassage::Part* next = passage.first.left > 0 ? &passage.first : nullptr;
  for (TierPassage::Part& part : passage.others) {
    if (part.left > 0 && (next == nullptr || part.at < next->at)) next = &part;
  }
  return next;
}

// Says of the whole what its parts say.
void settle(TierPassage& passage) {
  const TierPassage::Part* const next = next_part(passage);
  passage.left = passage.first.left;
  passage.at = next != nullptr ? next->at : passage.first.at;
  for (const TierPassage::Part& part : passage.others) {
    passage.left += part.left;
    if (next == nullptr) passage.at = std::max(passage.at, part.at);
  }
}

}  // namespace

TierModel::TierModel(TierDevice device, TierMeter* meter, TierClock clock)
    : TierModel(std::vector{std::move(device)}, {}, meter, std::move(clock)) {}

TierModel::TierModel(std::vector<TierDevice> devices, const TierLayout& layout, TierMeter* meter,
                     TierClock clock)
    : devices_(std::move(devices)), layout_(layout), meter_(meter), clock_(std::move(clock)) {}

// How long ago; 0: it has yet to come.
Clock::duration TierModel::since(TimePoint time) const {
  return std::max(clock_.now() - time, Clock::duration{});
}

TierPassage TierModel::enter(TimePoint arrival, const TierOperation& operation) {
  const TierParts parts(layout_, operation);
  TierPassage passage{.kind = operation.kind};
  for (uint64_t i = 0; i < parts.size(); ++i) {
    const TierOperation own = parts[i];
    const size_t device = parts.device(i);
    const auto [ready, arm, processes] = devices_[device].admit(arrival, own, since(arrival));
    if (meter_ != nullptr) meter_->used_by(processes);
    const TierPassage::Part part{device, own.bytes, ready, arm};
    if (i == 0) {
      passage.first = part;
    } else {
      passage.others.push_back(part);
    }
  }
  settle(passage);
  return passage;
}

void TierModel::go_on(TierPassage& passage) {
  TierPassage::Part& part = *next_part(passage);
  const TierDevice::Piece piece =
      devices_[part.device].transfer({part.at, passage.kind, part.left, part.arm, since(part.at)});
  part.left -= piece.bytes;
  part.at = piece.end;
  part.arm = {};
  settle(passage);
}

void TierModel::passed(TimePoint arrival, TimePoint modelled, TimePoint done) {
  // An overrun is the tier below being slower than the model. That the thread wakes up late is
  // another matter: finish() makes it good.
  modelled_.fetch_add((modelled - arrival).count(), std::memory_order_relaxed);
  if (modelled < done) overran(done - modelled);
}

void TierModel::finish(TimePoint begun, const TierOperation& operation) {
  const TimePoint done = clock_.now();
  // This thread's lateness: by how much its last sleep was too long (1.).
  std::atomic<Clock::rep>& own = late_.here();
  const Clock::duration late(own.load(std::memory_order_relaxed));
  TierPassage passage = enter(begun - late, operation);
  // Piece by piece, each asked for when its time has come, so that pieces of other threads get
  // between them as they would on the device (3.).
  while (passage.left > 0) {
    if (passage.at > clock_.now()) clock_.sleep_until(passage.at);
    go_on(passage);
  }
  passed(begun - late, passage.at, done - late);
  const TimePoint end = std::max(passage.at, done - late);
  if (meter_ != nullptr) meter_->waited(tier_op(passage.kind), end - (done - late));
  if (end > clock_.now()) clock_.sleep_until(end);
  // The thread's next operation makes up for this, up to a limit. The rest counts as an overrun,
  // because the run is slower by that than with the real device.
  const Clock::duration now_late = since(end);
  if (now_late > kMaxLate) overran(now_late - kMaxLate);
  own.store(std::min(now_late, kMaxLate).count(), std::memory_order_relaxed);
}

void TierModel::overran(Clock::duration by) {
  if (meter_ == nullptr) return;
  meter_->overran(by);
  const Clock::rep sum = overrun_.fetch_add(by.count(), std::memory_order_relaxed) + by.count();
  const Clock::duration modelled(modelled_.load(std::memory_order_relaxed));
  // A single hiccup at the begin of a run is a large share of little.
  if (modelled < kEnoughToJudge) return;
  if (seconds(Clock::duration(sum)) > kTooSlow * seconds(modelled)) {
    meter_->add_condition(kCondition);
  }
}

TierOperation tier_operation(FileCall::Op op, const std::string& path, uint64_t offset,
                             uint64_t bytes) {
  using Kind = TierOperation::Kind;
  if (op != FileCall::Op::read && op != FileCall::Op::write) return {Kind::metadata};
  return {op == FileCall::Op::read ? Kind::read : Kind::write, bytes, tier_object(path), offset};
}

int64_t TierLayer::call(const FileCall& call, const Next& next) {
  // Reads of a mapped file are page faults that this layer does not see, so it refuses to map.
  if (call.op == FileCall::Op::map) return -EOPNOTSUPP;
  const TimePoint begun = model_->begin();
  const int64_t result = next(call);
  const auto bytes = static_cast<uint64_t>(std::max<int64_t>(result, 0));
  model_->finish(begun, tier_operation(call.op, call.path, call.offset, bytes));
  return result;
}

}  // namespace stoker
