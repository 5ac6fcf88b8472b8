#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/metrics/ranks/breakdown.h"
#include "io/metrics/run_totals.h"

namespace stoker {

// Where one rank of a run has spent its time so far, for the others to see. A value of plain bytes.
struct RankTimes {
  int64_t images = 0;
  // As in RunTotals and DeviceTime; seconds since the loop began.
  double wall_s = 0;
  std::array<double, kSegments> segments{};
  double observed_s = 0;
  double busy_s = 0;
  std::array<double, kIdleCauses> idle{};
  // The breakdown of the run so far.
  Breakdown breakdown{};
  std::optional<RecordReadCosts> record_reads;
  // What passed since an older value of the same rank, but for the last two.
  RankTimes& operator-=(const RankTimes& before);
};
// timing: DeviceInfo::timing_method; loader: the one of the training batches.
RankTimes rank_times(const RunTotals& totals, const std::string& timing,
                     const LoaderMeter::State& loader);

// The rank that the others wait for. A value.
struct Straggler {
  int64_t rank = 0;
  // What it does for longer than they: a cause of idle time, "compute" or "pause".
  const char* cause = "";
  double excess_s = 0;
  // The share of their time that the other ranks lost on average because they waited for it.
  double share = 0;
};

// The rank whose device waits least for its peers, where the others lose more than kModerateShare
// of their time more than it does. A pure function of the times of all ranks, in their order.
std::optional<Straggler> find_straggler(const std::vector<RankTimes>& ranks);

}  // namespace stoker
