#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "app/base/result_table.h"
#include "app/tools/bench/benchmarks.h"
#include "app/tools/bench/storage/storage.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

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

std::string words_of(const TierPoint& point) {
  return fmt::format("{} {} of {} bytes by {}", point.random ? "random" : "sequential",
                     point.write ? "writes" : "reads", point.bytes,
                     plural(point.threads, "thread"));
}

// The same with other threads; null: no point is.
const TierPoint* with_fewer_threads(const TierPoint& of, const std::vector<TierPoint>& points) {
  const TierPoint* found = nullptr;
  for (const TierPoint& point : points) {
    const bool same =
        point.write == of.write && point.random == of.random && point.bytes == of.bytes;
    if (same && point.threads < of.threads) found = &point;
  }
  return found;
}

// The causes that can be told apart by what was measured.
std::string cause_of(const TierPoint& point, const Spread& rounds, double ratio,
                     const std::vector<TierPoint>& points) {
  std::string busy = rounds_differ(rounds, 0.5 * std::abs(ratio - 1));
  if (!busy.empty()) return busy;
  const TierPoint* fewer = with_fewer_threads(point, points);
  if (fewer != nullptr && point.ops_per_s < 0.9 * fewer->ops_per_s) {
    return fmt::format(
        "{} threads get less than {} do, which no emulated tier shows: leave these "
        "--threads out",
        point.threads, fewer->threads);
  }
  if (ratio < 1 && !point.random && !point.write) {
    return "the kernel or the device reads ahead of sequential reads, which an emulated tier does "
           "not: measure with storage type direct, or with --objects";
  }
  if (ratio < 1 && point.write) {
    return "a cache takes these writes, which an emulated tier has not: give a larger --block-size";
  }
  return "one bandwidth, one latency and one queue do not describe this device: fit the sizes and "
         "--threads that a loader will use";
}

void explain(const std::vector<Measurement>& measurements, StorageFit& result) {
  if (result.fits()) return;
  const auto ratio = [&](const TierPoint& point) {
    return result.fit.predict(point) / point.ops_per_s;
  };
  size_t worst = 0;
  for (size_t i = 0; i < result.points.size(); ++i) {
    const double error = std::abs(ratio(result.points[i]) - 1);
    if (error > std::abs(ratio(result.points[worst]) - 1)) worst = i;
  }
  const TierPoint& point = result.points[worst];
  result.why = fmt::format(
      "{} are {:.2f} times as fast by the model as measured; {}", words_of(point), ratio(point),
      cause_of(point, spread(measurements[worst].ops_per_s), ratio(point), result.points));
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
  explain(measurements, result);
  return result;
}

}  // namespace stoker
