#include "io/metrics/tier_meter.h"

#include <algorithm>

namespace stoker {

const char* to_string(TierOp op) {
  constexpr std::array<const char*, kTierOps> kNames{"list", "open",   "create", "read", "write",
                                                     "sync", "rename", "remove", "stat", "other"};
  return kNames[static_cast<size_t>(op)];
}

bool moves(TierOp op) { return op == TierOp::read || op == TierOp::write; }

TimePoint TierMeter::finished(TierOp op, TimePoint begin, uint64_t bytes) {
  const TimePoint end = Clock::now();
  Tallies& here = tallies_.here();
  here.ops[static_cast<size_t>(op)].add(end - begin, bytes);
  if (moves(op)) {
    auto& count = here.sizes[op == TierOp::write][size_bucket(static_cast<int64_t>(bytes))];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  tracer_.record({to_string(op), "storage", begin, end, bytes, -1, state_.name.c_str()});
  return end;
}

void TierMeter::failed(TierOp op, int errno_value) {
  const std::lock_guard lock(mutex_);
  ++state_.errors[{op, errno_value}];
}

void TierMeter::begin(TierOp op, TimePoint begin) {
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  if (moves(op)) busy_[op == TierOp::write].begin(begin);
}

void TierMeter::end(TierOp op, TimePoint end) {
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  if (moves(op)) busy_[op == TierOp::write].end(end);
}

void TierMeter::overran(Clock::duration by) {
  overruns_.fetch_add(1, std::memory_order_relaxed);
  overrun_ns_.fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(by).count(),
                        std::memory_order_relaxed);
}

void TierMeter::waited(TierOp op, Clock::duration time) {
  const size_t kind = op == TierOp::read ? 0 : op == TierOp::write ? 1 : 2;
  waited_ns_[kind].fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(),
                             std::memory_order_relaxed);
}

void TierMeter::used_by(int64_t processes) {
  if (processes > processes_.load(std::memory_order_relaxed)) {
    processes_.store(processes, std::memory_order_relaxed);
  }
}

void TierMeter::add_condition(const std::string& text) {
  const std::lock_guard lock(mutex_);
  auto& known = state_.conditions;
  if (std::ranges::find(known, text) == known.end()) known.push_back(text);
}

void TierMeter::cache_read(bool hit) { cache_reads_[hit].fetch_add(1, std::memory_order_relaxed); }

void TierMeter::set_cache(uint64_t bytes, uint64_t limit) {
  const std::lock_guard lock(mutex_);
  state_.cache = Cache{0, 0, bytes, limit};
}

void TierMeter::set_hedged() {
  const std::lock_guard lock(mutex_);
  state_.hedges = Hedges{};
}

int64_t TierMeter::spans() const {
  int64_t spans = 0;
  tallies_.each([&spans](const Tallies& tallies) {
    for (const Tally& op : tallies.ops) spans += op.count();
  });
  return spans;
}

TierMeter::State TierMeter::state() const {
  const std::lock_guard lock(mutex_);
  State result = state_;
  result.in_flight = in_flight_.load(std::memory_order_relaxed);
  tallies_.each([&result](const Tallies& tallies) {
    for (size_t i = 0; i < kTierOps; ++i) result.ops[i] += tallies.ops[i].totals();
    for (size_t way = 0; way < result.moved.size(); ++way) {
      for (size_t i = 0; i <= kSizeBounds.size(); ++i) {
        result.moved[way].sizes[i] += tallies.sizes[way][i].load(std::memory_order_relaxed);
      }
    }
  });
  const TimePoint now = Clock::now();
  for (size_t way = 0; way < busy_.size(); ++way) {
    result.moved[way].busy_s = seconds(busy_[way].total(now));
  }
  result.overruns = overruns_.load(std::memory_order_relaxed);
  result.overrun_s = 1e-9 * static_cast<double>(overrun_ns_.load(std::memory_order_relaxed));
  const auto waited_s = [this](size_t kind) {
    return 1e-9 * static_cast<double>(waited_ns_[kind].load(std::memory_order_relaxed));
  };
  result.waits = {waited_s(0), waited_s(1), waited_s(2)};
  result.processes = processes_.load(std::memory_order_relaxed);
  if (result.cache) {
    result.cache->misses = cache_reads_[0].load(std::memory_order_relaxed);
    result.cache->hits = cache_reads_[1].load(std::memory_order_relaxed);
  }
  const auto hedged = [this](size_t i) { return hedges_[i].load(std::memory_order_relaxed); };
  if (result.hedges) result.hedges = Hedges{hedged(0), hedged(1), hedged(2)};
  result.most_in_flight = most_in_flight_.load(std::memory_order_relaxed);
  return result;
}

}  // namespace stoker
