#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench/read.h"
#include "app/commands/commands.h"
#include "app/experiment/data_tier.h"
#include "app/experiment/options.h"
#include "app/base/statistics.h"
#include "io/metrics/hub.h"
#include "io/storage/metered.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  ReadBenchOptions options;
  std::string stages = "read";
  std::string page_cache = "cold";
  bool json = false;
};

void remark(const std::string& text) { fmt::print(stderr, "{}\n", text); }

// The tiers, the data set and the decoder of an experiment, without the rest of it.
struct Rig {
  explicit Rig(const ExperimentOptions& options) {
    for (const auto& [name, tier] : options.storage) {
      tiers.add(name, open_tier(tier, {name, remark, &hub}));
    }
    dataset = options.dataset.create({tiers, options.run.seed, remark});
    decoder = options.decoder.create({});
    tier = data_tier(options.dataset.dump());
    if (!tier.empty()) files = tiers.at(tier).files();
  }

  Hub hub;
  Tiers tiers;
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Decoder> decoder;
  std::string tier;  // empty: the data set needs none
  const FileTree* files = nullptr;
};

nlohmann::json spread_json(const std::vector<double>& values) {
  const Spread s = spread(values);
  return {{"min", s.min}, {"median", s.median}, {"max", s.max}};
}

struct Rates {
  std::vector<double> images_per_s;
  std::vector<double> mb_per_s;
  int64_t spoiled = 0;
};

Rates rates_of(const ReadBenchResult& result) {
  Rates rates;
  for (const ReadRepetition& r : result.repetitions) {
    if (r.spoiled) {
      ++rates.spoiled;
      continue;
    }
    rates.images_per_s.push_back(static_cast<double>(r.images) / r.seconds);
    rates.mb_per_s.push_back(1e-6 * static_cast<double>(r.bytes) / r.seconds);
  }
  return rates;
}

// Bandwidth by so many threads over that by one; absent where one of them has none.
std::optional<double> ratio_to_1(const std::vector<ReadBenchResult>& results, const Rates& rates) {
  const auto one = std::ranges::find(results, 1, &ReadBenchResult::threads);
  if (one == results.end() || rates.images_per_s.empty()) return std::nullopt;
  const Rates base = rates_of(*one);
  if (base.images_per_s.empty()) return std::nullopt;
  return spread(rates.images_per_s).median / spread(base.images_per_s).median;
}

std::vector<TierMeter::State> tiers_read(const Rig& rig) {
  std::vector<TierMeter::State> tiers = rig.hub.tiers();
  std::erase_if(tiers, [&](const TierMeter::State& tier) {
    return tier.name != rig.tier && !tier.name.starts_with(rig.tier + ".");
  });
  return tiers;
}

nlohmann::json result_json(const std::vector<ReadBenchResult>& results,
                           const ReadBenchResult& result, bool cold) {
  const Rates rates = rates_of(result);
  nlohmann::json json = {{"threads", result.threads},
                         {"repetitions", nlohmann::json::array()},
                         {"images", result.repetitions.front().images},
                         {"bytes", result.repetitions.front().bytes},
                         {"bad_samples", result.repetitions.front().bad}};
  for (const ReadRepetition& r : result.repetitions) {
    nlohmann::json row = {{"seconds", r.seconds}};
    if (r.resident) row["resident_before"] = *r.resident;
    if (cold) row["cold"] = !r.spoiled;
    json["repetitions"].push_back(row);
  }
  if (cold) json["cold"] = rates.spoiled == 0;
  if (rates.images_per_s.empty()) return json;
  json["images_per_s"] = spread_json(rates.images_per_s);
  json["mb_per_s"] = spread_json(rates.mb_per_s);
  if (const auto ratio = ratio_to_1(results, rates)) json["ratio_to_1"] = *ratio;
  return json;
}

void print_json(const Rig& rig, const Arguments& arguments,
                const std::vector<ReadBenchResult>& results) {
  const ReadBenchOptions& options = arguments.options;
  nlohmann::json json = {{"name", "bench read"},
                         {"config", arguments.config},
                         {"stages", arguments.stages},
                         {"page_cache", arguments.page_cache},
                         {"batch", options.batch},
                         {"batches", options.batches},
                         {"repetitions", options.repetitions},
                         {"dropped", 1},
                         {"tiers", nlohmann::json::array()},
                         {"results", nlohmann::json::array()}};
  bool emulated = false;
  for (const TierMeter::State& tier : tiers_read(rig)) {
    emulated |= tier.emulated;
    json["tiers"].push_back({{"name", tier.name},
                             {"type", tier.type},
                             {"emulated", tier.emulated},
                             {"conditions", tier.conditions}});
    if (tier.emulated) json["tiers"].back()["overruns"] = tier.overruns;
  }
  json["emulated"] = emulated;
  for (const ReadBenchResult& result : results) {
    json["results"].push_back(result_json(results, result, arguments.page_cache == "cold"));
  }
  fmt::print("{}\n", json.dump());
}

constexpr const char* what_is_done(ReadStages stages) {
  switch (stages) {
    case ReadStages::read:
      return "reading only";
    case ReadStages::decode:
      return "reading and decoding at full size";
    case ReadStages::resize:
      break;
  }
  return "reading and the whole decoder";
}

void print_conditions(const Rig& rig, const Arguments& arguments) {
  for (const TierMeter::State& tier : tiers_read(rig)) {
    fmt::print("  tier {}: {}{}\n", tier.name, tier.type,
               tier.emulated ? ", EMULATED: calculated, not measured" : "");
    if (tier.overruns > 0) {
      fmt::print("  tier {}: {} operations took longer than the model says: its figures are low\n",
                 tier.name, tier.overruns);
    }
    for (const std::string& condition : tier.conditions) {
      fmt::print("  tier {}: {}\n", tier.name, condition);
    }
  }
  if (rig.tier.empty()) fmt::print("  no tier: the samples are made in memory\n");
  const bool cold = arguments.page_cache == "cold";
  fmt::print(
      "  page cache {}; {}; shuffled anew in each of {} repetitions, the first dropped\n",
      cold ? "cold: emptied of these files before each repetition, and looked at" : "as it was",
      what_is_done(arguments.options.stages), arguments.options.repetitions);
}

void print_table(const Rig& rig, const Arguments& arguments,
                 const std::vector<ReadBenchResult>& results) {
  fmt::print("threads  images/s  (   min     max)      MB/s  (   min     max)  ratio\n");
  int64_t bad = 0;
  for (const ReadBenchResult& result : results) {
    const Rates rates = rates_of(result);
    bad = std::max(bad, result.repetitions.front().bad);
    if (rates.images_per_s.empty()) {
      fmt::print("{:>7}  not measured: the page cache was not cold\n", result.threads);
      continue;
    }
    const Spread images = spread(rates.images_per_s);
    const Spread mb = spread(rates.mb_per_s);
    const auto ratio = ratio_to_1(results, rates);
    fmt::print(
        "{:>7}  {:8.0f}  ({:6.0f}  {:6.0f})  {:8.2f}  ({:6.2f}  {:6.2f})  {:>5}{}\n",
        result.threads, images.median, images.min, images.max, mb.median, mb.min, mb.max,
        ratio ? fmt::format("{:.2f}", *ratio) : "-",
        rates.spoiled == 0 ? "" : fmt::format("  without {} that were not cold", rates.spoiled));
  }
  const ReadRepetition& first = results.front().repetitions.front();
  fmt::print("  medians over the repetitions of {} images, {:.1f} MB\n", first.images,
             1e-6 * static_cast<double>(first.bytes));
  if (bad > 0) fmt::print("  {} bad samples left out\n", bad);
  print_conditions(rig, arguments);
}

void check_possible(const Rig& rig, const Arguments& arguments, const std::string& decoder) {
  const bool jpeg = decoder == "jpeg" || decoder == "turbojpeg";
  if (arguments.options.stages == ReadStages::decode && !jpeg) {
    throw Error(ExitCode::config,
                "--stages decode is JPEG at its full size, by decoder.type jpeg or turbojpeg; "
                "decoder.type is " +
                    decoder + ": use --stages read or resize");
  }
  if (arguments.page_cache == "cold" && rig.files == nullptr) {
    throw Error(ExitCode::config,
                "--page-cache cold: " +
                    (rig.tier.empty() ? std::string("this data set reads no files")
                                      : "tier '" + rig.tier + "' shows no files") +
                    " whose pages could be dropped: use --page-cache as_is");
  }
}

ExitCode run(Arguments& arguments) {
  for (const auto& [name, stages] : enum_names(ReadStages{})) {
    if (arguments.stages == name) arguments.options.stages = stages;
  }
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  arguments.options.seed = options.run.seed;
  const Rig rig(options);
  check_possible(rig, arguments, options.decoder.type());
  arguments.options.libjpeg = options.decoder.type() == "turbojpeg";
  const bool live = isatty(STDERR_FILENO) == 1;
  const std::vector<ReadBenchResult> results = bench_read(
      *rig.dataset, *rig.decoder, rig.files, arguments.page_cache == "cold", arguments.options,
      [live](int64_t done, int64_t total) {
        if (live)
          fmt::print(stderr, "\r\x1b[Kpass {} of {}{}", done, total, done == total ? "\n" : "");
      });
  if (arguments.json) {
    print_json(rig, arguments, results);
  } else {
    print_table(rig, arguments, results);
  }
  const bool measured = std::ranges::any_of(
      results, [](const ReadBenchResult& r) { return !rates_of(r).images_per_s.empty(); });
  if (measured) return ExitCode::ok;
  fmt::print(stderr,
             "error: the kernel kept these files in the page cache (tmpfs is nothing else; pages "
             "in use stay; files that are not ours cannot be looked at): measure on another file "
             "system, or with --page-cache as_is\n");
  return ExitCode::environment;
}

}  // namespace

void add_bench_read(CLI::App& bench, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  ReadBenchOptions& options = arguments->options;
  CLI::App* command = bench.add_subcommand(
      "read", "Images/s and MB/s of reading the training samples, by number of threads");
  add_config_arguments(*command, *arguments);
  command->add_option("--stages", arguments->stages, "read; read and decode; or all of the decoder")
      ->check(CLI::IsMember({"read", "decode", "resize"}))
      ->capture_default_str();
  command->add_option("--threads", options.threads, "samples in flight, e.g. 1,2,4,8")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--batch", options.batch, "samples per batch")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--batches", options.batches, "batches per repetition; 0: one epoch")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  command->add_option("--repetitions", options.repetitions, "passes; the first is dropped")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  command
      ->add_option("--page-cache", arguments->page_cache,
                   "cold: emptied of the samples' files before each pass, and verified")
      ->check(CLI::IsMember({"cold", "as_is"}))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] { result = run(*arguments); });
}

}  // namespace stoker
