#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/process/log.h"
#include "app/process/stop_signal.h"
#include "app/tools/bench/bench_tier.h"
#include "app/tools/bench/benchmarks.h"
#include "app/tools/bench/storage/storage.h"
#include "io/core/text/text.h"
#include "io/experiment/data_options.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

// What all figures of one `stoker bench storage` have in common: their conditions.
struct StorageBenchInfo {
  std::string tier;
  std::string type;
  bool emulated = false;  // the tier is, or a part of it
  bool direct = false;    // the files were opened with direct I/O
  std::vector<TierMeter::State> parts;
};

// The rounds of one number of threads, in the order they ran.
struct StorageResult {
  StorageWorkload workload;
  std::vector<StorageRound> rounds;
};

std::string size_text(uint64_t bytes) { return Scalar<ByteSize>::format({bytes}); }

const char* op_name(bool write) { return write ? "write" : "read"; }
const char* pattern_name(bool random) { return random ? "random" : "sequential"; }

std::string conditions_text(const StorageBenchInfo& info, const StorageWorkload& workload) {
  return fmt::format(
      "storage '{}', {} per thread, {}{}{}\n  {}\n", info.tier, size_text(workload.block_bytes),
      workload.shared ? "one shared file" : "a file per thread",
      workload.objects ? ", each read opens and closes its object"
                       : ", open files (--objects measures the tier's own way to read)",
      info.direct ? ", past the page cache" : "", fmt::join(tiers_text(info.parts), "\n  "));
}

nlohmann::json conditions_json(const StorageBenchInfo& info, const StorageWorkload& workload) {
  int64_t overruns = 0;
  std::vector<std::string> conditions;
  for (const TierMeter::State& part : info.parts) {
    overruns += part.overruns;
    conditions.insert(conditions.end(), part.conditions.begin(), part.conditions.end());
  }
  return {{"name", "stoker-storage"},
          {"tier", info.tier},
          {"type", info.type},
          {"emulated", info.emulated},
          {"overruns", overruns},
          {"conditions", conditions},
          {"tiers", tiers_json(info.parts)},
          {"through", workload.objects ? "objects" : "files"},
          {"direct", info.direct},
          {"shared", workload.shared},
          {"block_bytes", workload.block_bytes}};
}

// A figure of the rounds that count; absent where no round does.
template <class F>
ResultTable::Cell over_rounds(const StorageResult& result, const F& figure) {
  std::vector<double> values;
  for (const StorageRound& round : result.rounds) {
    if (round.counts) values.push_back(figure(round));
  }
  return values.empty() ? ResultTable::Cell() : ResultTable::Cell(spread(values));
}

ResultTable results_table(const std::vector<StorageResult>& results) {
  ResultTable table({{"op", "op"},
                     {"pattern", "pattern"},
                     {"transfer_bytes", ""},
                     {"", "transfer"},
                     {"threads", "threads"},
                     {"mb_per_s", "MB/s (min max)", 1},
                     {"iops", "IOPS", 0, 1, false},
                     {"first_done_mb_per_s", "first-done", 1, 1, false},
                     {"p50_ms", "p50 ms", 3, 1, false},
                     {"p99_ms", "p99 ms", 3, 1, false},
                     {"fsync", ""},
                     {"page_cache", ""}});
  for (const StorageResult& result : results) {
    const StorageWorkload& workload = result.workload;
    const auto mb = [](uint64_t bytes) { return 1e-6 * static_cast<double>(bytes); };
    table.add({op_name(workload.write), pattern_name(workload.random),
               static_cast<int64_t>(workload.transfer_bytes), size_text(workload.transfer_bytes),
               workload.threads,
               over_rounds(result, [&](const StorageRound& r) { return mb(r.bytes) / r.seconds; }),
               over_rounds(result,
                           [](const StorageRound& r) {
                             return static_cast<double>(r.transfers) / r.seconds;
                           }),
               over_rounds(
                   result,
                   [&](const StorageRound& r) { return mb(r.first_done_bytes) / r.first_done_s; }),
               over_rounds(result, [](const StorageRound& r) { return 1e3 * r.p50_s; }),
               over_rounds(result, [](const StorageRound& r) { return 1e3 * r.p99_s; }),
               workload.write && (workload.sync || workload.objects),
               workload.write  ? "written through"
               : workload.cold ? "cold, verified"
                               : "as it was"});
    for (size_t i = 0; i < result.rounds.size(); ++i) {
      const StorageRound& round = result.rounds[i];
      if (round.counts) continue;
      table.note(fmt::format("round {} did not begin cold and is left out: {}", i + 1,
                             round.cached ? fmt::format("{:.0f} % was cached", 100 * *round.cached)
                                          : "the kernel does not say what is cached"));
    }
  }
  return table;
}

nlohmann::json round_json(const StorageRound& round) {
  nlohmann::json json = {{"seconds", round.seconds},
                         {"bytes", round.bytes},
                         {"transfers", round.transfers},
                         {"first_done_s", round.first_done_s},
                         {"first_done_bytes", round.first_done_bytes},
                         {"counts", round.counts}};
  if (round.cached) json["cached_before"] = *round.cached;
  return json;
}

std::string cache_text(const StorageWorkload& workload) {
  return workload.cold ? "reads begin cold (evicted, verified)"
                       : "reads: page cache as it was; --cold evicts";
}

ResultTable points_table(const StorageFit& result) {
  ResultTable table({{"op", "op"},
                     {"pattern", "pattern"},
                     {"transfer_bytes", ""},
                     {"", "transfer"},
                     {"threads", "threads"},
                     {"iops", ""},
                     {"predicted_iops", ""},
                     {"", "measured MB/s", 2},
                     {"", "predicted", 2},
                     {"", "error %", 1, 100}});
  for (const TierPoint& point : result.points) {
    const double megabytes = 1e-6 * static_cast<double>(point.bytes);
    const double predicted = result.fit.predict(point);
    table.add({op_name(point.write), pattern_name(point.random), static_cast<int64_t>(point.bytes),
               size_text(point.bytes), point.threads, point.ops_per_s, predicted,
               megabytes * point.ops_per_s, megabytes * predicted,
               predicted / point.ops_per_s - 1});
  }
  return table;
}

// MB are 10^6 bytes. Rounds that do not count are listed and give no bandwidth.
ExitCode print_storage(const StorageBenchInfo& info, const std::vector<StorageResult>& results,
                       bool as_json) {
  const StorageWorkload& first = results.front().workload;
  const ResultTable table = results_table(results);
  nlohmann::json json = conditions_json(info, first);
  json["results"] = table.json();
  for (size_t i = 0; i < results.size(); ++i) {
    for (const StorageRound& round : results[i].rounds) {
      json["results"][i]["rounds"].push_back(round_json(round));
    }
  }
  const std::string text = fmt::format(
      "{}{}  {} after one that does not count, medians; MB/s = bytes of all / time until "
      "the last thread was done;\n  first-done = bytes moved by all until the first was done / "
      "that time; {}{}\n",
      conditions_text(info, first), table.text(2), plural(results.front().rounds.size(), "round"),
      cache_text(first), first.sync ? "; writes end with fsync" : "");
  return print_result(as_json, json, text);
}

ExitCode print_storage_fit(const StorageBenchInfo& info, const StorageWorkload& like,
                           const StorageFit& result, bool as_json) {
  const std::string yaml = result.fit.yaml("{type: posix, root: DIRECTORY}");
  const ResultTable points = points_table(result);
  nlohmann::json json = conditions_json(info, like);
  json["yaml"] = yaml;
  json["worst_error"] = result.worst;
  json["mean_error"] = result.mean;
  json["fits"] = result.fits();
  if (!result.fits()) json["why"] = result.why;
  json["left_out_rounds"] = result.left_out;
  json["queue_depth_unseen"] = result.fit.queue_depth_unseen;
  json["points"] = points.json();
  std::string text =
      fmt::format("{}  {}; writes end with fsync\n{}  fit error: worst {:.1f} %, mean {:.1f} %\n",
                  conditions_text(info, like), cache_text(like), points.text(2), 100 * result.worst,
                  100 * result.mean);
  if (result.left_out > 0) {
    text +=
        fmt::format("  {} left out that did not begin cold\n", plural(result.left_out, "round"));
  }
  if (result.fit.queue_depth_unseen) {
    text += "  queue_depth: at least so many; more threads would tell\n";
  }
  text += "\n" + yaml + "\n";
  if (!result.fits()) {
    text += fmt::format(
        "\nThis does NOT fit: a tier that is emulated by it is up to {:.0f} % wrong.\n  why: {}\n",
        100 * result.worst, result.why);
  }
  return print_result(as_json, json, text);
}

std::vector<StorageResult> workloads_of(const StorageBenchArguments& arguments,
                                        const StorageWorkload& like) {
  std::vector<StorageResult> results;
  for (const bool write : {false, true}) {
    if (arguments.op == (write ? "read" : "write")) continue;
    for (const int64_t threads : arguments.threads) {
      StorageWorkload workload = like;
      workload.write = write;
      workload.threads = threads;
      results.push_back({workload, {}});
    }
  }
  return results;
}

std::vector<StorageResult> measure(StorageBench& bench, const StorageBenchArguments& arguments,
                                   const StorageWorkload& like, const StopSignal& stop) {
  std::vector<StorageResult> results = workloads_of(arguments, like);
  for (const StorageResult& result : results) bench.prepare(result.workload);
  interleave(results, arguments.rounds, 1, [&](StorageResult& result, int64_t round) {
    if (stop.requested()) return false;
    const StorageRound done = bench.run(result.workload, static_cast<uint64_t>(round + 1));
    if (round >= 0) result.rounds.push_back(done);
    return true;
  });
  return results;
}

std::string directory_of(const StorageBenchArguments& arguments) {
  std::string directory = plain_key(arguments.directory);
  if (directory.empty() || is_key(directory)) return directory;
  throw Error(ExitCode::config, "--directory must be a relative path inside the tier, got '" +
                                    arguments.directory + "'");
}

StorageWorkload workload_of(const StorageBenchArguments& arguments) {
  StorageWorkload workload = arguments.workload;
  workload.block_bytes = arguments.block_size.bytes;
  workload.transfer_bytes = arguments.transfer_size.bytes;
  workload.random = arguments.pattern == "random";
  return workload;
}

}  // namespace

ExitCode bench_storage(const StorageBenchArguments& arguments) {
  const std::string directory = directory_of(arguments);
  RunLog log(false);
  const DataOptions options = read_tier_options(arguments.config, arguments.overrides, print_note);
  const Component<Storage>& component = find_tier(options, arguments.tier);
  const bool emulated = component.info().emulated;
  Hub hub;
  TierMeter& meter = hub.add_tier(arguments.tier, component.type(), emulated);
  const auto tier = component.create({arguments.tier, log.notify(), &hub, &meter});
  StorageWorkload workload = workload_of(arguments);
  if (files_of(*tier) == nullptr) workload.objects = true;
  const StopSignal stop;
  StorageBench bench(
      *tier, [&stop] { return stop.requested(); }, directory);
  std::vector<StorageResult> results;
  StorageFit fit;
  if (arguments.fit) {
    // The page cache is none of a device's figures.
    workload.cold = workload.cold || (bench.has_files() && !emulated);
    fit = fit_storage(bench, workload, arguments.threads, arguments.rounds);
  } else {
    results = measure(bench, arguments, workload, stop);
  }
  if (stop.requested()) {
    log.warn("stopped: nothing is reported");
    return stop.exit_code();
  }
  const StorageBenchInfo info{arguments.tier, component.type(), emulated, bench.direct(),
                              parts_of_tier(hub, arguments.tier)};
  if (arguments.fit) return print_storage_fit(info, workload, fit, arguments.json);
  return print_storage(info, results, arguments.json);
}

}  // namespace stoker
