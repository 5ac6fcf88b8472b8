#include "io/metrics/checkpoint_meter.h"

#include <algorithm>
#include <cmath>

namespace stoker {

const char* to_string(CheckpointPart part) {
  constexpr std::array<const char*, kCheckpointParts> kNames{"blocked", "snapshot", "write",
                                                             "save",    "drain",    "restore"};
  return kNames[static_cast<size_t>(part)];
}

const char* to_string(DrainDecision decision) {
  constexpr std::array<const char*, kDrainDecisions> kNames{"raised", "held", "lowered", "hurried"};
  return kNames[static_cast<size_t>(decision)];
}

void CheckpointMeter::finished(CheckpointPart part, TimePoint begin, TimePoint end, int64_t step,
                               uint64_t bytes) {
  const auto index = static_cast<size_t>(part);
  {
    const std::lock_guard lock(mutex_);
    tallies_[index].add(end - begin, bytes);
    state_.last_s[index] = seconds(end - begin);
    operations_.push_back({part, begin, end, step, bytes});
    if (operations_.size() > kMaxOperations) operations_.pop_front();
    if (part == CheckpointPart::save) {
      state_.last_save_unix_s = unix_now();
    }
  }
  // `save` spans others and the trainer's row shows what blocked it.
  if (part == CheckpointPart::blocked || part == CheckpointPart::save) return;
  tracer_.record({to_string(part), "checkpoint", begin, end, bytes, step});
}

void CheckpointMeter::set_status(const CheckpointReport& report) {
  const std::lock_guard lock(mutex_);
  state_.report = report;
}

CheckpointMeter::State CheckpointMeter::state() const {
  const std::lock_guard lock(mutex_);
  State result = state_;
  for (size_t i = 0; i < kCheckpointParts; ++i) {
    result.parts[i] = tallies_[i].totals();
    result.under_way[i] = under_way_[i];
  }
  const double limit = drain_limit_;
  if (std::isfinite(limit)) result.drain_limit = limit;
  const double slowdown = drain_slowdown_;
  if (std::isnan(slowdown)) return result;
  result.drain_slowdown = std::clamp(slowdown, 0.0, 1.0);
  result.drain_decisions.emplace();
  for (size_t i = 0; i < kDrainDecisions; ++i) {
    (*result.drain_decisions)[i] = drain_decisions_[i];
  }
  return result;
}

std::vector<CheckpointMeter::Operation> CheckpointMeter::operations() const {
  const std::lock_guard lock(mutex_);
  return {operations_.begin(), operations_.end()};
}

}  // namespace stoker
