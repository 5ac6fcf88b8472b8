#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/bench/read.h"
#include "app/bench/tier_conditions.h"
#include "app/experiment/data.h"

namespace stoker {
namespace {

// Those repetitions of one number of threads that were as cold as they had to be.
struct ReadRates {
  explicit ReadRates(const ReadBenchResult& result) {
    for (const ReadRepetition& r : result.repetitions) {
      if (r.spoiled) {
        ++spoiled;
        continue;
      }
      images_per_s.push_back(static_cast<double>(r.images) / r.seconds);
      mb_per_s.push_back(1e-6 * static_cast<double>(r.bytes) / r.seconds);
    }
  }
  std::vector<double> images_per_s;
  std::vector<double> mb_per_s;
  int64_t spoiled = 0;
};

// The rate of so many threads over that of one; absent where one of them has none.
ResultTable::Cell ratio_to_1(const std::vector<ReadBenchResult>& results, const ReadRates& rates) {
  const auto one = std::ranges::find(results, 1, &ReadBenchResult::threads);
  if (one == results.end() || rates.images_per_s.empty()) return {};
  const ReadRates base(*one);
  if (base.images_per_s.empty()) return {};
  return spread(rates.images_per_s).median / spread(base.images_per_s).median;
}

ResultTable read_table(const std::vector<ReadBenchResult>& results) {
  ResultTable table({{"threads", "threads"},
                     {"images_per_s", "images/s (min max)"},
                     {"mb_per_s", "MB/s (min max)", 2},
                     {"ratio_to_1", "ratio", 2},
                     {"images", ""},
                     {"bytes", ""},
                     {"bad_samples", ""}});
  for (const ReadBenchResult& result : results) {
    const ReadRates rates(result);
    const ReadRepetition& first = result.repetitions.front();
    const bool measured = !rates.images_per_s.empty();
    using Cell = ResultTable::Cell;
    table.add({result.threads, measured ? Cell(spread(rates.images_per_s)) : Cell(),
               measured ? Cell(spread(rates.mb_per_s)) : Cell(), ratio_to_1(results, rates),
               first.images, static_cast<int64_t>(first.bytes), first.bad});
    if (!measured) {
      table.note("not measured: the page cache was not cold");
    } else if (rates.spoiled > 0) {
      table.note(fmt::format("without {} that were not cold", rates.spoiled));
    }
  }
  return table;
}

void print_read_json(const ExperimentData& data, const ReadBenchArguments& arguments,
                     const std::vector<ReadBenchResult>& results) {
  const ReadBenchOptions& options = arguments.options;
  const bool cold = arguments.page_cache == "cold";
  nlohmann::json json = {{"name", "bench read"},
                         {"config", arguments.config},
                         {"stages", arguments.stages},
                         {"page_cache", arguments.page_cache},
                         {"batch", options.batch},
                         {"batches", options.batches},
                         {"repetitions", options.repetitions},
                         {"dropped", 1},
                         {"results", read_table(results).json()}};
  const std::vector<TierMeter::State> tiers = parts_of_tier(data.hub(), data.tier());
  json["tiers"] = tiers_json(tiers);
  json["emulated"] = std::ranges::any_of(tiers, &TierMeter::State::emulated);
  for (size_t i = 0; i < results.size(); ++i) {
    nlohmann::json& row = json["results"][i];
    for (const ReadRepetition& r : results[i].repetitions) {
      nlohmann::json repetition = {{"seconds", r.seconds}};
      if (r.resident) repetition["resident_before"] = *r.resident;
      if (cold) repetition["cold"] = !r.spoiled;
      row["repetitions"].push_back(repetition);
    }
    if (cold) row["cold"] = ReadRates(results[i]).spoiled == 0;
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

void print_read_text(const ExperimentData& data, const ReadBenchArguments& arguments,
                     const std::vector<ReadBenchResult>& results) {
  fmt::print("{}", read_table(results).text());
  const ReadRepetition& first = results.front().repetitions.front();
  fmt::print("  medians over the repetitions of {} images, {:.1f} MB\n", first.images,
             1e-6 * static_cast<double>(first.bytes));
  int64_t bad = 0;
  for (const ReadBenchResult& result : results) {
    bad = std::max(bad, result.repetitions.front().bad);
  }
  if (bad > 0) fmt::print("  {} bad samples left out\n", bad);
  for (const std::string& line : tiers_text(parts_of_tier(data.hub(), data.tier()))) {
    fmt::print("  {}\n", line);
  }
  if (data.tier().empty()) fmt::print("  no tier: the samples are made in memory\n");
  const bool cold = arguments.page_cache == "cold";
  fmt::print(
      "  page cache {}; {}; shuffled anew in each of {} repetitions, the first dropped\n",
      cold ? "cold: emptied of these files before each repetition, and looked at" : "as it was",
      what_is_done(arguments.options.stages), arguments.options.repetitions);
}

void check_possible(const ExperimentData& data, const ReadBenchArguments& arguments,
                    ReadStages stages, const std::string& decoder) {
  const bool jpeg = decoder == "jpeg" || decoder == "turbojpeg";
  if (stages == ReadStages::decode && !jpeg) {
    throw Error(ExitCode::config,
                "--stages decode is JPEG at its full size, by decoder.type jpeg or turbojpeg; "
                "decoder.type is " +
                    decoder + ": use --stages read or resize");
  }
  if (arguments.page_cache == "cold" && data.files() == nullptr) {
    throw Error(ExitCode::config,
                "--page-cache cold: " +
                    (data.tier().empty() ? std::string("this data set reads no files")
                                         : "tier '" + data.tier() + "' shows no files") +
                    " whose pages could be dropped: use --page-cache as_is");
  }
}

}  // namespace

ExitCode bench_read(ReadBenchArguments arguments) {
  for (const auto& [name, stages] : enum_names(ReadStages{})) {
    if (arguments.stages == name) arguments.options.stages = stages;
  }
  const ExperimentOptions experiment = read_experiment(arguments.config, arguments.overrides);
  const ExperimentData data(experiment, print_remark);
  check_possible(data, arguments, arguments.options.stages, experiment.decoder.type());
  arguments.options.seed = experiment.run.seed;
  arguments.options.libjpeg = experiment.decoder.type() == "turbojpeg";
  const std::vector<ReadBenchResult> results =
      bench_read(data.dataset(), data.decoder(), data.files(), arguments.page_cache == "cold",
                 arguments.options, [](int64_t done, int64_t total) {
                   show_progress("pass", static_cast<uint64_t>(done), static_cast<uint64_t>(total));
                 });
  if (arguments.json) {
    print_read_json(data, arguments, results);
  } else {
    print_read_text(data, arguments, results);
  }
  const bool measured = std::ranges::any_of(
      results, [](const ReadBenchResult& r) { return !ReadRates(r).images_per_s.empty(); });
  if (measured) return ExitCode::ok;
  print_remark(
      "error: the kernel kept these files in the page cache (tmpfs is nothing else; pages in use "
      "stay; files that are not ours cannot be looked at): measure on another file system, or with "
      "--page-cache as_is");
  return ExitCode::environment;
}

}  // namespace stoker
