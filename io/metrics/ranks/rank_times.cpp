#include "io/metrics/ranks/rank_times.h"

#include <algorithm>

#include "io/metrics/idle.h"

namespace stoker {
namespace {

double lost_to_peers(const RankTimes& rank) {
  const double waited = rank.idle[static_cast<size_t>(IdleCause::peers)];
  return rank.observed_s > 0 ? waited / rank.observed_s : 0;
}

// The mean of a figure over all ranks but one.
template <class F>
double mean_of_others(const std::vector<RankTimes>& ranks, size_t but, F&& figure) {
  double sum = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i != but) sum += figure(ranks[i]);
  }
  return sum / static_cast<double>(ranks.size() - 1);
}

}  // namespace

RankTimes& RankTimes::operator-=(const RankTimes& before) {
  images -= before.images;
  wall_s -= before.wall_s;
  observed_s -= before.observed_s;
  busy_s -= before.busy_s;
  for (size_t i = 0; i < kSegments; ++i) segments[i] -= before.segments[i];
  for (size_t i = 0; i < kIdleCauses; ++i) idle[i] -= before.idle[i];
  return *this;
}

RankTimes rank_times(const RunTotals& totals, const std::string& timing,
                     const LoaderMeter::State& loader) {
  return {totals.images,
          totals.wall_s,
          totals.segments,
          totals.device.observed,
          totals.device.busy,
          totals.device.idle,
          break_down(totals, timing, loader),
          loader.record_reads};
}

std::optional<Straggler> find_straggler(const std::vector<RankTimes>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const auto least = std::ranges::min_element(ranks, {}, lost_to_peers);
  const auto rank = static_cast<size_t>(least - ranks.begin());
  Straggler found{static_cast<int64_t>(rank), "compute", 0,
                  mean_of_others(ranks, rank, lost_to_peers) - lost_to_peers(*least)};
  if (found.share < kModerateShare) return std::nullopt;
  const auto consider = [&](const char* cause, auto&& figure) {
    const double excess = figure(*least) - mean_of_others(ranks, rank, figure);
    if (excess > found.excess_s) found.cause = cause, found.excess_s = excess;
  };
  consider("compute", [](const RankTimes& each) { return each.busy_s; });
  consider("pause", [](const RankTimes& each) {
    return each.segments[static_cast<size_t>(Segment::paused)];
  });
  for (size_t i = 0; i < kIdleCauses; ++i) {
    const auto cause = static_cast<IdleCause>(i);
    if (cause == IdleCause::peers) continue;
    consider(idle_cause_name(cause), [i](const RankTimes& each) { return each.idle[i]; });
  }
  return found;
}

}  // namespace stoker
