#include "app/tools/bench/storage/storage_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "app/base/statistics.h"
#include "app/tools/bench/rounds.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr uint64_t kSmall = 4096;
constexpr int64_t kFilesMade = 50;  // for the latency of metadata, per round

struct Measurement {
  StorageWorkload workload;
  std::vector<double> ops_per_s;
};

std::vector<Measurement> plan_fit(const StorageWorkload& like,
                                  const std::vector<int64_t>& threads) {
  StorageWorkload large = like;
  large.write = large.random = false;
  StorageWorkload small = large;
  small.transfer_bytes = std::min(kSmall, large.transfer_bytes);
  StorageWorkload scattered = small;
  scattered.random = true;
  StorageWorkload write = large;
  write.write = write.sync = true;
  std::vector<Measurement> result{{small, {}}};
  for (const int64_t count : threads) {
    for (StorageWorkload workload : {large, scattered, write}) {
      workload.threads = count;
      result.push_back({workload, {}});
    }
  }
  return result;
}

TierPoint point_of(const Measurement& measurement) {
  const StorageWorkload& workload = measurement.workload;
  if (measurement.ops_per_s.empty()) {
    throw Error(ExitCode::environment,
                fmt::format("no round of {} reads by {} threads began cold: what this file "
                            "system holds stays in memory, so there is nothing to fit",
                            workload.random ? "random" : "sequential", workload.threads));
  }
  return {workload.write, workload.random, workload.transfer_bytes, workload.threads,
          spread(measurement.ops_per_s).median};
}

}  // namespace

StorageFit fit_storage(StorageBench& bench, const StorageWorkload& like,
                       const std::vector<int64_t>& threads, int64_t rounds) {
  StorageFit result;
  std::vector<Measurement> measurements = plan_fit(like, threads);
  std::vector<double> metadata_s;
  bool stopped = false;
  interleave(measurements, rounds, 1, [&](Measurement& measurement, int64_t round) {
    bench.prepare(measurement.workload);
    const StorageRound found = bench.run(measurement.workload, static_cast<uint64_t>(round + 1));
    stopped = found.transfers == 0;
    if (round < 0 || stopped) return !stopped;
    if (found.counts) {
      measurement.ops_per_s.push_back(static_cast<double>(found.transfers) / found.seconds);
    } else {
      ++result.left_out;
    }
    if (&measurement != &measurements.back()) return true;
    const std::vector<double> more = bench.metadata(kFilesMade);
    metadata_s.insert(metadata_s.end(), more.begin(), more.end());
    return true;
  });
  if (stopped) return result;
  for (const Measurement& measurement : measurements) {
    result.points.push_back(point_of(measurement));
  }
  result.fit = fit_tier(result.points);
  if (!metadata_s.empty()) result.fit.metadata_latency_ms = 1e3 * spread(metadata_s).median;
  for (const TierPoint& point : result.points) {
    const double error = std::abs(result.fit.predict(point) / point.ops_per_s - 1);
    result.worst = std::max(result.worst, error);
    result.mean += error / static_cast<double>(result.points.size());
  }
  return result;
}

}  // namespace stoker
