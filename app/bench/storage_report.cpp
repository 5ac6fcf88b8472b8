#include "app/bench/storage_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/statistics.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

std::string size_text(uint64_t bytes) { return Scalar<ByteSize>::format({bytes}); }

std::string conditions_text(const StorageBenchInfo& info, const StorageWorkload& workload) {
  std::string text =
      fmt::format("storage '{}' ({}{}), {} per thread, {}{}{}", info.tier, info.type,
                  info.emulated ? ", emulated" : "", size_text(workload.block_bytes),
                  workload.shared ? "one shared file" : "a file per thread",
                  workload.objects ? ", each read opens and closes its object"
                                   : ", open files (--objects measures the tier's own way to read)",
                  info.direct ? ", past the page cache" : "");
  for (const std::string& condition : info.conditions) text += "\n  note: " + condition;
  if (info.overruns > 0) {
    text += fmt::format(
        "\n  note: {} operations took longer than the emulated tier may: its "
        "figures are too low",
        info.overruns);
  }
  return text;
}

Json conditions_json(const StorageBenchInfo& info, const StorageWorkload& workload) {
  return {{"name", "stoker-storage"},
          {"tier", info.tier},
          {"type", info.type},
          {"emulated", info.emulated},
          {"overruns", info.overruns},
          {"conditions", info.conditions},
          {"through", workload.objects ? "objects" : "files"},
          {"direct", info.direct},
          {"shared", workload.shared},
          {"block_bytes", workload.block_bytes}};
}

// Of those rounds that count.
struct Figures {
  std::vector<double> mb_per_s, first_done_mb_per_s, iops, p50_ms, p99_ms;

  explicit Figures(const StorageResult& result) {
    for (const StorageRound& round : result.rounds) {
      if (!round.counts) continue;
      mb_per_s.push_back(1e-6 * static_cast<double>(round.bytes) / round.seconds);
      first_done_mb_per_s.push_back(1e-6 * static_cast<double>(round.first_done_bytes) /
                                    round.first_done_s);
      iops.push_back(static_cast<double>(round.transfers) / round.seconds);
      p50_ms.push_back(1e3 * round.p50_s);
      p99_ms.push_back(1e3 * round.p99_s);
    }
  }
};

Json round_json(const StorageRound& round) {
  Json json = {{"seconds", round.seconds},
               {"bytes", round.bytes},
               {"transfers", round.transfers},
               {"first_done_s", round.first_done_s},
               {"first_done_bytes", round.first_done_bytes},
               {"counts", round.counts}};
  if (round.cached) json["cached_before"] = *round.cached;
  return json;
}

Json result_json(const StorageResult& result) {
  const StorageWorkload& workload = result.workload;
  Json json = {{"op", workload.write ? "write" : "read"},
               {"pattern", workload.random ? "random" : "sequential"},
               {"transfer_bytes", workload.transfer_bytes},
               {"threads", workload.threads},
               {"fsync", workload.write && (workload.sync || workload.objects)},
               {"page_cache", workload.write  ? "written through"
                              : workload.cold ? "cold, verified"
                                              : "as it was"}};
  for (const StorageRound& round : result.rounds) json["rounds"].push_back(round_json(round));
  const Figures figures(result);
  if (figures.mb_per_s.empty()) return json;
  json["mb_per_s"] = spread(figures.mb_per_s);
  json["first_done_mb_per_s"] = spread(figures.first_done_mb_per_s);
  json["iops"] = spread(figures.iops);
  json["p50_ms"] = spread(figures.p50_ms);
  json["p99_ms"] = spread(figures.p99_ms);
  return json;
}

void print_row(const StorageResult& result) {
  const StorageWorkload& workload = result.workload;
  fmt::print("  {:<5} {:<10} {:>8} {:>8}", workload.write ? "write" : "read",
             workload.random ? "random" : "sequential", size_text(workload.transfer_bytes),
             workload.threads);
  const Figures figures(result);
  if (!figures.mb_per_s.empty()) {
    const Spread rate = spread(figures.mb_per_s);
    fmt::print(" {:>9.1f} {:>9.1f} {:>9.1f} {:>9.0f} {:>11.1f} {:>9.3f} {:>9.3f}", rate.median,
               rate.min, rate.max, spread(figures.iops).median,
               spread(figures.first_done_mb_per_s).median, spread(figures.p50_ms).median,
               spread(figures.p99_ms).median);
  }
  fmt::print("\n");
  for (size_t i = 0; i < result.rounds.size(); ++i) {
    const StorageRound& round = result.rounds[i];
    if (round.counts) continue;
    const std::string cached = round.cached
                                   ? fmt::format("{:.0f} % was cached", 100 * *round.cached)
                                   : "the kernel does not say what is cached";
    fmt::print("        round {} did not begin cold and is left out: {}\n", i + 1, cached);
  }
}

std::string cache_text(const StorageWorkload& workload) {
  return workload.cold ? "reads begin cold (evicted, verified)"
                       : "reads: page cache as it was; --cold evicts";
}

}  // namespace

void print_storage(const StorageBenchInfo& info, const std::vector<StorageResult>& results,
                   bool json) {
  const StorageWorkload& first = results.front().workload;
  if (json) {
    Json line = conditions_json(info, first);
    for (const StorageResult& result : results) line["results"].push_back(result_json(result));
    fmt::print("{}\n", line.dump());
    return;
  }
  fmt::print("{}\n", conditions_text(info, first));
  fmt::print("  {:<5} {:<10} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>11} {:>9} {:>9}\n", "op",
             "pattern", "transfer", "threads", "MB/s", "min", "max", "IOPS", "first-done", "p50 ms",
             "p99 ms");
  for (const StorageResult& result : results) print_row(result);
  fmt::print(
      "  {} rounds after one that does not count, medians; MB/s = bytes of all / time until the "
      "last thread was done;\n"
      "  first-done = bytes moved by all until the first was done / that time; {}{}\n",
      results.front().rounds.size(), cache_text(first),
      first.sync ? "; writes end with fsync" : "");
}

void print_storage_fit(const StorageBenchInfo& info, const StorageWorkload& like,
                       const StorageFit& result, bool json) {
  const TierFit& fit = result.fit;
  const std::string yaml = fit.yaml("{type: posix, root: DIRECTORY}");
  if (json) {
    Json line = conditions_json(info, like);
    line["yaml"] = yaml;
    line["worst_error"] = result.worst;
    line["mean_error"] = result.mean;
    line["left_out_rounds"] = result.left_out;
    line["queue_depth_unseen"] = fit.queue_depth_unseen;
    for (const TierPoint& point : result.points) {
      line["points"].push_back({{"op", point.write ? "write" : "read"},
                                {"pattern", point.random ? "random" : "sequential"},
                                {"transfer_bytes", point.bytes},
                                {"threads", point.threads},
                                {"iops", point.ops_per_s},
                                {"predicted_iops", fit.predict(point)}});
    }
    fmt::print("{}\n", line.dump());
    return;
  }
  fmt::print("{}\n  {}; writes end with fsync\n", conditions_text(info, like), cache_text(like));
  fmt::print("  {:<5} {:<10} {:>8} {:>8} {:>14} {:>14} {:>8}\n", "op", "pattern", "transfer",
             "threads", "measured MB/s", "predicted", "error");
  for (const TierPoint& point : result.points) {
    const double megabytes = 1e-6 * static_cast<double>(point.bytes);
    const double predicted = fit.predict(point);
    fmt::print("  {:<5} {:<10} {:>8} {:>8} {:>14.2f} {:>14.2f} {:>+6.1f} %\n",
               point.write ? "write" : "read", point.random ? "random" : "sequential",
               size_text(point.bytes), point.threads, megabytes * point.ops_per_s,
               megabytes * predicted, 100 * (predicted / point.ops_per_s - 1));
  }
  fmt::print("  fit error: worst {:.1f} %, mean {:.1f} %\n", 100 * result.worst, 100 * result.mean);
  if (result.left_out > 0) {
    fmt::print("  {} rounds did not begin cold and are left out\n", result.left_out);
  }
  if (fit.queue_depth_unseen) {
    fmt::print("  queue_depth: at least so many; more threads would tell\n");
  }
  fmt::print("\n{}\n", yaml);
}

}  // namespace stoker
