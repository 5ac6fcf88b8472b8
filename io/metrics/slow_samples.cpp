#include "io/metrics/slow_samples.h"

#include <algorithm>
#include <utility>

namespace stoker {

void SlowSamples::keep(const SlowSample& sample) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(sample);
  kept_ = slowest_of(std::move(kept_));
  if (kept_.size() < kKept) return;
  const std::chrono::duration<double> least(kept_.back().seconds);
  least_.store(std::chrono::duration_cast<Clock::duration>(least), std::memory_order_relaxed);
}

void SlowSamples::append_to(std::vector<SlowSample>& all) const {
  const std::lock_guard lock(mutex_);
  all.insert(all.end(), kept_.begin(), kept_.end());
}

std::vector<SlowSample> slowest_of(std::vector<SlowSample> all) {
  std::ranges::stable_sort(all, std::ranges::greater{}, &SlowSample::seconds);
  if (all.size() > SlowSamples::kKept) all.resize(SlowSamples::kKept);
  return all;
}

}  // namespace stoker
