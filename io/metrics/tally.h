#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <type_traits>

#include "io/metrics/clock.h"

namespace stoker {

// Upper bounds of histogram buckets in seconds. They are half decades apart for what may take
// microseconds or minutes, and closer for steps, because the quantiles of steps matter. Ascending;
// a value on a bound is in the bucket below it. What is above the last has a bucket of its own.
inline constexpr std::array kLatencyBounds{1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2,
                                           0.1,  0.3,  1.0,  3.0,  10.,  30.,  100.};
inline constexpr std::array kStepBounds{1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 0.01, 0.015, 0.02, 0.03,
                                        0.05, 0.07, 0.1,  0.15, 0.2,  0.3,  0.5,   0.7,  1.0,
                                        1.5,  2.0,  3.0,  5.0,  7.0,  10.0, 30.0,  60.0};

// The q-quantile (0 to 1) of a histogram, interpolated in its bucket as Prometheus's
// histogram_quantile does. 0 where nothing was counted.
inline double quantile(std::span<const double> bounds, std::span<const int64_t> counts, double q) {
  int64_t count = 0;
  for (const int64_t in_bucket : counts) count += in_bucket;
  const double rank = q * static_cast<double>(count);
  double below = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const auto in_bucket = static_cast<double>(counts[i]);
    if (in_bucket > 0 && below + in_bucket >= rank) {
      const double from = i == 0 ? 0 : bounds[i - 1];
      return from + (bounds[i] - from) * (rank - below) / in_bucket;
    }
    below += in_bucket;
  }
  return count == 0 ? 0 : bounds.back();
}

// How often something was done, how long it took and how many bytes it moved. A value.
template <const auto& kBounds>
struct TallyTotals {
  // How many things were done, how long they took together in nanoseconds, and how many bytes they
  // moved.
  int64_t count = 0;
  int64_t ns = 0;
  uint64_t bytes = 0;
  std::array<int64_t, kBounds.size() + 1> buckets{};  // not cumulative; the last has no bound

  // Sum of the durations. Over a count of 0 there is no mean: callers check.
  double seconds() const { return 1e-9 * static_cast<double>(ns); }

  // A quantile of the durations in seconds; see quantile() above.
  double quantile(double q) const { return stoker::quantile(kBounds, buckets, q); }

  // Adds what another thread, or another time, counted.
  TallyTotals& operator+=(const TallyTotals& other) {
    count += other.count;
    ns += other.ns;
    bytes += other.bytes;
    for (size_t i = 0; i < buckets.size(); ++i) buckets[i] += other.buckets[i];
    return *this;
  }
  // Takes an earlier reading of the same tally off: what was counted since. Every member of the
  // result is 0 or more where `other` is the older one.
  TallyTotals& operator-=(const TallyTotals& other) {
    count -= other.count;
    ns -= other.ns;
    bytes -= other.bytes;
    for (size_t i = 0; i < buckets.size(); ++i) buckets[i] -= other.buckets[i];
    return *this;
  }
};

// Keeps TallyTotals. One thread writes at a time (no read-modify-write is needed then), any thread
// reads; the members of one reading may be of neighbouring moments.
template <const auto& kBounds>
class BasicTally {
 public:
  using Totals = TallyTotals<kBounds>;

  // One thing was done and took so long. bytes: what it moved. Only the thread that owns the tally.
  // No lock, no allocation: four relaxed stores.
  void add(Clock::duration took, uint64_t bytes = 0) {
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
    const auto bucket = static_cast<size_t>(
        std::lower_bound(kNanoseconds.begin(), kNanoseconds.end(), ns) - kNanoseconds.begin());
    increase(count_, 1);
    increase(ns_, ns);
    increase(bytes_, bytes);
    increase(buckets_[bucket], 1);
  }

  // How many things were added. Any thread.
  int64_t count() const { return count_.load(std::memory_order_relaxed); }

  // A copy of all that was counted. Any thread, also while another adds.
  Totals totals() const {
    Totals result;
    result.count = count_.load(std::memory_order_relaxed);
    result.ns = ns_.load(std::memory_order_relaxed);
    result.bytes = bytes_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < buckets_.size(); ++i) {
      result.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    }
    return result;
  }

 private:
  // The bounds in the unit of the clock, so that add() compares integers.
  static constexpr auto kNanoseconds = [] {
    std::array<int64_t, kBounds.size()> result{};
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<int64_t>(1e9 * kBounds[i] + 0.5);
    return result;
  }();

  template <class T>
  // Not one atomic operation: there is one writer.
  static void increase(std::atomic<T>& value, std::type_identity_t<T> by) {
    value.store(value.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> ns_{0};
  std::atomic<uint64_t> bytes_{0};
  std::array<std::atomic<int64_t>, kBounds.size() + 1> buckets_{};
};

// For operations and stages of a loader: microseconds to minutes.
using Tally = BasicTally<kLatencyBounds>;
// For steps of the trainer and its waits: milliseconds to a minute.
using StepTally = BasicTally<kStepBounds>;

}  // namespace stoker
