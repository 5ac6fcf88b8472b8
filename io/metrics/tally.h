#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "io/metrics/clock.h"

namespace stoker {

// Upper bounds of the buckets of all durations in seconds, from a microsecond to half an hour, with
// a factor of 2^(1/8) from one to the next: a quantile is off by 9 % at most. Ascending; a value on
// a bound is in the bucket below it. What is above the last has a bucket of its own.
inline constexpr size_t kBucketsPerDoubling = 8;
inline constexpr auto kDurationBounds = [] {
  // 2^(i/8)
  constexpr std::array<double, kBucketsPerDoubling> kPowers{1.0,
                                                            1.0905077326652577,
                                                            1.189207115002721,
                                                            1.2968395546510096,
                                                            1.4142135623730951,
                                                            1.5422108254079407,
                                                            1.681792830507429,
                                                            1.8340080864093424};
  std::array<double, 31 * kBucketsPerDoubling + 1> bounds{};
  double doubled = 1e-6;
  for (size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] = doubled * kPowers[i % kBucketsPerDoubling];
    if (i % kBucketsPerDoubling == kBucketsPerDoubling - 1) doubled *= 2;
  }
  return bounds;
}();

// How often something was done, how long it took and how many bytes it moved. A value.
struct TallyTotals {
  // How many things were done, how long they took together in nanoseconds, and how many bytes they
  // moved.
  int64_t count = 0;
  int64_t ns = 0;
  uint64_t bytes = 0;
  // The shortest and the longest duration; of a difference, those of the later reading.
  int64_t least_ns = 0;
  int64_t most_ns = 0;
  std::array<int64_t, kDurationBounds.size() + 1>
      buckets{};  // not cumulative; the last has no bound

  // Sum of the durations. Over a count of 0 there is no mean: callers check.
  double seconds() const { return 1e-9 * static_cast<double>(ns); }

  // The q-quantile (0 to 1) in seconds, interpolated in its bucket and not beyond the shortest and
  // the longest. Absent where so few were counted that hardly one lies beyond it: below 1 / (1 - q)
  // of them, and below 5.
  std::optional<double> quantile(double q) const {
    if (count < 5 || static_cast<double>(count) * (1 - q) < 1 - 1e-9) return std::nullopt;
    int64_t all = 0;
    for (const int64_t in_bucket : buckets) all += in_bucket;
    const double rank = q * static_cast<double>(all);
    double below = 0;
    double value = 1e-9 * static_cast<double>(most_ns);
    for (size_t i = 0; i < kDurationBounds.size(); ++i) {
      const auto in_bucket = static_cast<double>(buckets[i]);
      if (in_bucket > 0 && below + in_bucket >= rank) {
        const double from = i == 0 ? 0 : kDurationBounds[i - 1];
        value = from + (kDurationBounds[i] - from) * (rank - below) / in_bucket;
        break;
      }
      below += in_bucket;
    }
    return std::clamp(value, 1e-9 * static_cast<double>(least_ns),
                      1e-9 * static_cast<double>(std::max(least_ns, most_ns)));
  }

  // Adds what another thread, or another time, counted.
  TallyTotals& operator+=(const TallyTotals& other) {
    if (other.count > 0) {
      least_ns = count > 0 ? std::min(least_ns, other.least_ns) : other.least_ns;
      most_ns = std::max(most_ns, other.most_ns);
    }
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
class Tally {
 public:
  using Totals = TallyTotals;

  // One thing was done and took so long. bytes: what it moved. Only the thread that owns the tally.
  // No lock, no allocation: some relaxed stores.
  void add(Clock::duration took, uint64_t bytes = 0) {
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
    const auto bucket = static_cast<size_t>(
        std::lower_bound(kNanoseconds.begin(), kNanoseconds.end(), ns) - kNanoseconds.begin());
    if (ns < least_ns_.load(std::memory_order_relaxed)) {
      least_ns_.store(ns, std::memory_order_relaxed);
    }
    if (ns > most_ns_.load(std::memory_order_relaxed)) {
      most_ns_.store(ns, std::memory_order_relaxed);
    }
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
    if (result.count > 0) result.least_ns = least_ns_.load(std::memory_order_relaxed);
    result.most_ns = most_ns_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < buckets_.size(); ++i) {
      result.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    }
    return result;
  }

 private:
  // The bounds in the unit of the clock, so that add() compares integers.
  static constexpr auto kNanoseconds = [] {
    std::array<int64_t, kDurationBounds.size()> result{};
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<int64_t>(1e9 * kDurationBounds[i] + 0.5);
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
  std::atomic<int64_t> least_ns_{std::numeric_limits<int64_t>::max()};
  std::atomic<int64_t> most_ns_{0};
  std::array<std::atomic<int64_t>, kDurationBounds.size() + 1> buckets_{};
};

}  // namespace stoker
