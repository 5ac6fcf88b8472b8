#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "io/metrics/clock.h"

namespace stoker {

// Which sample it was. A value.
struct SampleId {
  // Which pass over the data, from 0.
  int64_t epoch = 0;
  int64_t index = 0;  // of its split
};

// One of the slowest. A value.
struct SlowSample {
  SampleId sample;
  double seconds = 0;
  uint64_t bytes = 0;
};

// The samples that took longest. One thread adds, any reads: a sample that is not among them costs
// one relaxed load and a comparison. So that a report can name what to look at: a damaged file, a
// large image, a slow server.
class SlowSamples {
 public:
  // How many samples each thread keeps, and how many the result has.
  static constexpr size_t kKept = 10;

  // The owning thread only. bytes: the size of the encoded sample. A sample that is kept costs a
  // lock and an allocation at most.
  void add(Clock::duration took, uint64_t bytes, SampleId sample) {
    if (took > least_.load(std::memory_order_relaxed)) keep({sample, seconds(took), bytes});
  }
  // Appends those that are kept, in no order. Any thread.
  void append_to(std::vector<SlowSample>& all) const;

 private:
  void keep(const SlowSample& sample);

  std::atomic<Clock::duration> least_{Clock::duration{-1}};  // that is kept, once there are kKept
  mutable std::mutex mutex_;
  std::vector<SlowSample> kept_;
};

// The slowest kKept of them, slowest first.
std::vector<SlowSample> slowest_of(std::vector<SlowSample> all);

}  // namespace stoker
