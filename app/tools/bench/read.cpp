#include "app/tools/bench/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/bench/bench_tier.h"
#include "app/tools/bench/benchmarks.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/experiment/experiment_data.h"
#include "io/loader/sampler.h"
#include "io/metrics/record/run_record.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

// The samples of one repetition, in order.
std::vector<int64_t> samples_of(const Dataset& dataset, const ReadBenchOptions& options,
                                int64_t epoch) {
  LoaderOptions order;
  order.batch_size = options.batch;
  order.drop_last = false;
  const int64_t all = dataset.size(Split::train);
  if (options.batches * options.batch > all) {
    throw Error(ExitCode::config,
                fmt::format("--batches {} of {} are more than the {} training samples: use fewer, "
                            "or 0 for all",
                            options.batches, options.batch, all));
  }
  std::vector<int64_t> samples =
      Sampler(order, Shard{}, dataset, Split::train, options.seed).order(epoch).samples;
  if (options.batches > 0) samples.resize(static_cast<size_t>(options.batches * options.batch));
  return samples;
}

void check_budget(const Dataset& dataset, const ReadRepetition& measured) {
  if (measured.bad <= dataset.on_error().budget.of(dataset.size(Split::train))) return;
  throw Error(ExitCode::data,
              fmt::format("dataset: {} bad samples, more than dataset.on_error.budget allows: look "
                          "at them with `stoker dataset inspect`",
                          measured.bad));
}

// The repetitions of one number of threads that were as cold as they had to be.
struct ReadRates {
  explicit ReadRates(const ReadBenchResult& result) {
    for (const ReadRepetition& r : result.repetitions) {
      if (r.spoiled) {
        ++spoiled;
        continue;
      }
      images_per_s.push_back(static_cast<double>(r.images) / r.seconds);
      mb_per_s.push_back(1e-6 * static_cast<double>(r.bytes) / r.seconds);
      if (!r.asked) continue;
      const auto images = static_cast<double>(r.images);
      requests_per_image.push_back(static_cast<double>(r.asked->requests) / images);
      tier_bytes_per_image.push_back(static_cast<double>(r.asked->bytes) / images);
      tier_mb_per_s.push_back(1e-6 * static_cast<double>(r.asked->bytes) / r.seconds);
    }
  }
  std::vector<double> images_per_s;
  std::vector<double> mb_per_s;
  std::vector<double> requests_per_image;
  std::vector<double> tier_bytes_per_image;
  std::vector<double> tier_mb_per_s;
  int64_t spoiled = 0;
};

// The rate of these threads over that of one thread; absent where either was not measured.
ResultTable::Cell ratio_to_1(const std::vector<ReadBenchResult>& results, const ReadRates& rates) {
  const auto one = std::ranges::find(results, 1, &ReadBenchResult::threads);
  if (one == results.end() || rates.images_per_s.empty()) return {};
  const ReadRates base(*one);
  if (base.images_per_s.empty()) return {};
  return spread(rates.images_per_s).median / spread(base.images_per_s).median;
}

ResultTable::Cell cell_of(const std::vector<double>& values) {
  return values.empty() ? ResultTable::Cell() : spread(values);
}

ResultTable read_table(const std::vector<ReadBenchResult>& results) {
  ResultTable table({{"threads", "threads"},
                     {"images_per_s", "images/s (min max)"},
                     {"mb_per_s", "MB/s (min max)", 2},
                     {"ratio_to_1", "ratio", 2},
                     {"tier_mb_per_s", "tier: MB/s", 2, 1, false},
                     {"tier_bytes_per_image", "bytes/image", 0, 1, false},
                     {"requests_per_image", "requests/image", 4, 1, false},
                     {"images", ""},
                     {"bytes", ""},
                     {"bad_samples", ""}});
  for (const ReadBenchResult& result : results) {
    const ReadRates rates(result);
    const ReadRepetition& first = result.repetitions.front();
    const bool measured = !rates.images_per_s.empty();
    table.add({result.threads, cell_of(rates.images_per_s), cell_of(rates.mb_per_s),
               ratio_to_1(results, rates), cell_of(rates.tier_mb_per_s),
               cell_of(rates.tier_bytes_per_image), cell_of(rates.requests_per_image), first.images,
               static_cast<int64_t>(first.bytes), first.bad});
    if (!measured) {
      table.note("not measured: the page cache was not cold");
    } else if (rates.spoiled > 0) {
      table.note(fmt::format("without {} that were not cold", rates.spoiled));
    }
    const std::string busy = measured ? rounds_differ(spread(rates.images_per_s)) : "";
    if (!busy.empty()) table.note(busy);
  }
  return table;
}

nlohmann::json read_json(const ExperimentData& data, const ReadBenchArguments& arguments,
                         const std::vector<ReadBenchResult>& results) {
  const ReadBenchOptions& options = arguments.options;
  const bool cold = arguments.page_cache == "cold";
  nlohmann::json json = {{"name", "bench read"},
                         {"config", arguments.config},
                         {"stages", arguments.stages},
                         {"pipeline", arguments.pipeline},
                         {"loader", arguments.loader},
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
  return json;
}

std::string what_is_done(const ReadBenchArguments& arguments) {
  const std::string what = arguments.stages == "read"     ? "reading only"
                           : arguments.stages == "decode" ? "reading and decoding at full size"
                                                          : "reading and the whole decoder";
  if (arguments.loader) return what + ", by the configured loader, in its order";
  return what + (arguments.pipeline ? ", in order and in batches, by the loader `threaded` with as "
                                      "many samples ahead as threads"
                                    : "");
}

std::string read_text(const ExperimentData& data, const ReadBenchArguments& arguments,
                      const std::vector<ReadBenchResult>& results) {
  const ReadRepetition& first = results.front().repetitions.front();
  std::string text =
      fmt::format("{}  medians over the repetitions of {}, {:.1f} MB\n", read_table(results).text(),
                  plural(first.images, "image"), 1e-6 * static_cast<double>(first.bytes));
  int64_t bad = 0;
  for (const ReadBenchResult& result : results) {
    bad = std::max(bad, result.repetitions.front().bad);
  }
  if (bad > 0) text += fmt::format("  {} left out\n", plural(bad, "bad sample"));
  for (const std::string& line : tiers_text(parts_of_tier(data.hub(), data.tier()))) {
    text += "  " + line + "\n";
  }
  if (data.tier().empty()) text += "  no tier: the samples are made in memory\n";
  const bool cold = arguments.page_cache == "cold";
  return text +
         fmt::format("  page cache {}; {}; shuffled anew in each of {}, the first dropped\n",
                     cold ? "cold: emptied of these files before each repetition, and looked at"
                          : "as it was",
                     what_is_done(arguments), plural(arguments.options.repetitions, "repetition"));
}

void check_possible(const ExperimentData& data, const ReadBenchArguments& arguments,
                    ReadStages stages, const Component<Decoder>& decoder) {
  if (stages == ReadStages::decode && decoder.info().jpeg == JpegBy::none) {
    throw Error(ExitCode::config,
                "--stages decode is JPEG at its full size, by decoder.type jpeg or turbojpeg; "
                "decoder.type is " +
                    decoder.type() + ": use --stages read or resize");
  }
  if (arguments.pipeline && arguments.loader) {
    throw Error(ExitCode::config, "--pipeline is one loader and --loader another: leave one out");
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

std::vector<ReadBenchResult> bench_read(const Dataset& dataset, const ReadPass& pass,
                                        const FileTree* files, bool cold,
                                        const ReadBenchOptions& options,
                                        const std::function<void(int64_t, int64_t)>& progress) {
  std::vector<ReadBenchResult> results;
  for (const int64_t threads : options.threads) results.push_back({threads, {}});
  int64_t done = 0;
  interleave(results, options.repetitions - 1, 1, [&](ReadBenchResult& result, int64_t round) {
    const std::vector<int64_t> samples = samples_of(dataset, options, round + 1);
    std::optional<double> resident;
    if (files != nullptr) {
      const std::vector<std::string> keys = options.own_order
                                                ? objects_of(dataset, Split::train)
                                                : objects_of(dataset, Split::train, samples);
      resident = (cold ? evict(*files, keys) : page_cache_residency(*files, keys)).cached_share();
    }
    ReadRepetition measured = pass(result.threads, round + 1, samples);
    check_budget(dataset, measured);
    measured.resident = resident;
    measured.spoiled = cold && !is_cold(resident.value_or(1));
    if (round >= 0) result.repetitions.push_back(measured);
    if (progress) progress(++done, options.repetitions * std::ssize(results));
    return true;
  });
  return results;
}

ExitCode bench_read(ReadBenchArguments arguments) {
  ReadStages stages = ReadStages::read;
  for (const auto& [name, known] : enum_names(ReadStages{})) {
    if (arguments.stages == name) stages = known;
  }
  const DataOptions experiment =
      read_data_options(arguments.config, arguments.overrides, print_note);
  if (experiment.dataset.info().whole_files) {
    throw Error(ExitCode::config,
                "bench read takes the samples in any order, and by dataset.access whole each would "
                "read a whole file: use dataset.access=copy");
  }
  const ExperimentData data(experiment, print_note);
  check_possible(data, arguments, stages, experiment.decoder);
  arguments.options.seed = experiment.run.seed;
  arguments.options.own_order = arguments.loader;
  const bool cold = arguments.page_cache == "cold";
  const auto pass_of = [&]() -> ReadPass {
    const int64_t batch = arguments.options.batch;
    std::function<ReadRepetition::Asked()> asked;
    if (!data.tier().empty()) asked = asked_of(data.hub(), data.tier());
    if (arguments.loader) return loader_reads(data.dataset(), experiment, stages, batch, asked);
    return counted(arguments.pipeline
                       ? pipeline_reads(data.dataset(), experiment, stages, batch)
                       : bare_reads(data.dataset(), data.decoder(), stages, experiment.run.seed,
                                    experiment.decoder.info().jpeg == JpegBy::libjpeg),
                   asked);
  };
  const ReadPass pass = pass_of();
  const std::vector<ReadBenchResult> results =
      bench_read(data.dataset(), pass, data.files(), cold, arguments.options, progress_of("pass"));
  print_result(arguments.json, read_json(data, arguments, results),
               read_text(data, arguments, results));
  const bool measured = std::ranges::any_of(
      results, [](const ReadBenchResult& r) { return !ReadRates(r).images_per_s.empty(); });
  if (measured) return ExitCode::ok;
  print_note(
      "error: the kernel kept these files in the page cache (tmpfs is nothing else; pages in use "
      "stay; files that are not ours cannot be looked at): measure on another file system, or with "
      "--page-cache as_is");
  return ExitCode::environment;
}

}  // namespace stoker
