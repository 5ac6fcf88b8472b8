#include "io/storage/tail/read_times.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

namespace stoker {
namespace {

constexpr int kFirstBit = 10;  // 1024 ns are the first step
constexpr uint32_t kLookEvery = 32;
constexpr uint64_t kLeast = 64;
constexpr uint64_t kMost = 4096;

}  // namespace

ReadTimes::ReadTimes(double quantile)
    : quantile_(quantile),
      least_(std::max(kLeast, static_cast<uint64_t>(std::ceil(2 / (1 - quantile))))) {}

size_t ReadTimes::size_of(const Range& range) {
  if (range.length == UINT64_MAX) return 0;
  return 1 + static_cast<size_t>(std::bit_width(range.length)) / 2;
}

size_t ReadTimes::step_of(Clock::duration took) {
  const auto ns =
      static_cast<uint64_t>(std::max<int64_t>(1 << kFirstBit, took / std::chrono::nanoseconds(1)));
  const int bit = std::bit_width(ns) - 1;
  const size_t eighth = (ns >> (bit - 3)) & 7;
  return std::min(kSteps - 1, static_cast<size_t>(bit - kFirstBit) * 8 + eighth);
}

int64_t ReadTimes::end_of(size_t step) {
  const auto bit = static_cast<int>(step / 8) + kFirstBit;
  return (int64_t{1} << (bit - 3)) * static_cast<int64_t>(8 + step % 8 + 1);
}

void ReadTimes::add(const Range& range, Clock::duration took) {
  Size& size = sizes_[size_of(range)];
  size.counts[step_of(took)].fetch_add(1, std::memory_order_relaxed);
  if ((size.added.fetch_add(1, std::memory_order_relaxed) + 1) % kLookEvery == 0) look(size);
}

// Others may add meanwhile, and two may look at once: counts are then off by some reads.
void ReadTimes::look(Size& size) const {
  std::array<uint32_t, kSteps> counts;
  uint64_t all = 0;
  for (size_t i = 0; i < kSteps; ++i) {
    all += counts[i] = size.counts[i].load(std::memory_order_relaxed);
  }
  if (all < least_) return;
  const auto want = static_cast<uint64_t>(std::ceil(quantile_ * static_cast<double>(all)));
  size_t step = 0;
  for (uint64_t below = counts[0]; below < want && step + 1 < kSteps;) below += counts[++step];
  size.limit_ns.store(end_of(step), std::memory_order_relaxed);
  if (all < kMost) return;
  for (size_t i = 0; i < kSteps; ++i) {
    size.counts[i].fetch_sub(counts[i] / 2, std::memory_order_relaxed);
  }
}

std::optional<Clock::duration> ReadTimes::limit(const Range& range) const {
  const int64_t ns = sizes_[size_of(range)].limit_ns.load(std::memory_order_relaxed);
  if (ns == 0) return std::nullopt;
  return std::chrono::nanoseconds(ns);
}

}  // namespace stoker
