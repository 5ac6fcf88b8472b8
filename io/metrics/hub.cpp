#include "io/metrics/hub.h"

#include <algorithm>

namespace stoker {
namespace {

// Of one span as a tier records it: two readings of the clock and a tally. The best of several
// rounds, as a lost time slice is not its cost.
double measure_span() {
  constexpr int kRounds = 8, kSpans = 256;
  ThreadSlots<Tally> tallies;
  Clock::duration best = Clock::duration::max();
  for (int round = 0; round < kRounds; ++round) {
    const TimePoint begin = Clock::now();
    for (int i = 0; i < kSpans; ++i) {
      const TimePoint from = Clock::now();
      tallies.here().add(Clock::now() - from, 1);
    }
    best = std::min(best, Clock::now() - begin);
  }
  return seconds(best) / kSpans;
}

}  // namespace

const char* to_string(Overhead part) {
  switch (part) {
    case Overhead::spans:
      return "spans";
    case Overhead::step:
      return "step";
    case Overhead::sinks:
      return "sinks";
    case Overhead::scrape:
      break;
  }
  return "scrape";
}

Hub::Hub() : span_cost_s_(measure_span()) {}

TierMeter& Hub::add_tier(const std::string& name, const std::string& type, bool emulated) {
  const std::lock_guard lock(mutex_);
  return tiers_.emplace_back(name, type, emulated, tracer_);
}

std::vector<TierMeter::State> Hub::tiers() const {
  const std::lock_guard lock(mutex_);
  std::vector<TierMeter::State> result;
  for (const TierMeter& tier : tiers_) result.push_back(tier.state());
  return result;
}

void Hub::add_overhead(Overhead part, Clock::duration took) {
  overhead_ns_[static_cast<size_t>(part)] +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
}

std::array<double, kOverheads> Hub::overhead_s() const {
  std::array<double, kOverheads> result{};
  for (size_t i = 0; i < kOverheads; ++i) {
    result[i] = 1e-9 * static_cast<double>(overhead_ns_[i].load());
  }
  int64_t spans = 0;
  for (const TierMeter::State& tier : tiers()) {
    for (const auto& op : tier.ops) spans += op.count;
  }
  for (const LoaderMeter::State& loader : loaders()) {
    for (const auto& stage : loader.stages) spans += stage.count;
  }
  result[static_cast<size_t>(Overhead::spans)] += span_cost_s_ * static_cast<double>(spans);
  return result;
}

}  // namespace stoker
