#include "app/tools/bench_train/headspace.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/experiment/experiment.h"
#include "app/tools/bench/bench_tier.h"
#include "app/tools/bench/loader.h"
#include "app/train/step.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/metrics/hub.h"
#include "io/metrics/machine/system_stats.h"
#include "io/metrics/record/run_record.h"
#include "io/storage/cached/cached.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

// Read-ahead from the epoch before is a large part of a shorter one.
constexpr double kShortEpoch_s = 0.2;

std::string megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", 1e-6 * static_cast<double>(bytes));
}

void take(const LoaderBenchmark& measured, HeadspaceLevel& level) {
  level.images_per_s = measured.images_per_s;
  const double epoch_s =
      static_cast<double>(measured.images) / spread(measured.images_per_s).median;
  if (epoch_s >= kShortEpoch_s) return;
  level.conditions.push_back(fmt::format(
      "an epoch takes {:.1f} ms: too short for more than its order of magnitude", 1e3 * epoch_s));
}

class HeadspaceMeasurement {
 public:
  HeadspaceMeasurement(const ExperimentOptions& experiment, const HeadspaceArguments& options,
                       const Notify& notify)
      : experiment_(experiment),
        options_(options),
        notify_(notify),
        tier_(experiment.dataset.info().tier) {}

  std::vector<HeadspaceLevel> measure() {
    using Self = HeadspaceMeasurement;
    struct Step {
      const char* name;
      const char* what;
      void (Self::*measure)(HeadspaceLevel&);
    };
    constexpr Step kSteps[] = {
        {"device", "the device alone, on one batch that it holds", &Self::measure_device},
        {"decoded", "loading pixels that are in memory", &Self::measure_decoded},
        {"encoded", "decoding files that are in memory", &Self::measure_encoded},
        {"page_cache", "reading files that the page cache holds", &Self::measure_page_cache},
        {"cold", "reading what no cache holds", &Self::measure_cold}};
    std::vector<HeadspaceLevel> levels;
    for (const Step& step : kSteps) {
      notify_(std::string("headspace: ") + step.what);
      HeadspaceLevel& level = levels.emplace_back();
      level.name = step.name;
      level.what = step.what;
      (this->*step.measure)(level);
    }
    return levels;
  }

 private:
  void measure_device(HeadspaceLevel& level);
  void measure_decoded(HeadspaceLevel& level);
  void measure_encoded(HeadspaceLevel& level);
  void measure_page_cache(HeadspaceLevel& level);
  void measure_cold(HeadspaceLevel& level);

  LoaderBenchmark measured(Experiment& experiment) const {
    return measure_loader(experiment.data(), experiment.options().loader.info(),
                          experiment.loader_use(Split::train), options_.epochs);
  }
  bool has_room(uint64_t bytes, HeadspaceLevel& level) const;
  std::vector<std::string> keys(const Experiment& experiment) const;
  void add_conditions(Experiment& experiment, HeadspaceLevel& level) const;
  double cold_epoch(Experiment& experiment, int64_t epoch, HeadspaceLevel& level) const;

  const ExperimentOptions& experiment_;
  const HeadspaceArguments& options_;
  const Notify& notify_;
  const std::string tier_;  // empty where the data set reads no tier
};

void HeadspaceMeasurement::measure_device(HeadspaceLevel& level) {
  at::manual_seed(experiment_.run.seed);
  at::set_num_threads(static_cast<int>(thread_count(experiment_.training.threads)));
  Experiment experiment(experiment_, notify_);
  Device& device = experiment.device();
  level.emulated = device.info().emulated;
  std::unique_ptr<TrainStep> step;
  const int64_t all_steps = options_.epochs * options_.steps;
  if (!level.emulated) step = std::make_unique<TrainStep>(experiment, all_steps, all_steps);
  const std::shared_ptr<DeviceBatch> batch = experiment.first_batch();
  int64_t done = 0;
  const auto run = [&](int64_t steps) {
    for (int64_t i = 0; i < steps; ++i, ++done) {
      device.run(batch.get(), [&] {
        step->pass(*batch, done);
        step->update(done, nullptr);
      });
    }
    device.collect(true);
  };
  run(2);  // allocations, autotuning
  for (int64_t block = 0; block < options_.epochs; ++block) {
    const TimePoint begin = Clock::now();
    run(options_.steps);
    const double images = static_cast<double>(options_.steps * batch->host.size);
    level.images_per_s.push_back(images / seconds(Clock::now() - begin));
  }
  level.conditions.push_back(
      fmt::format("{}, {} of {}, {}", device.info().name, plural(options_.steps, "step"),
                  plural(batch->host.size, "image"), plural(options_.epochs, "time")));
}

// Returns false where this does not fit into the memory of this machine beside the rest; the level
// then says why.
bool HeadspaceMeasurement::has_room(uint64_t bytes, HeadspaceLevel& level) const {
  const auto available = read_system_stats({}).memory.available;
  if (!available || bytes < *available - *available / 5) return true;
  level.absent = fmt::format("needs {} of memory, of which {} are available", megabytes(bytes),
                             megabytes(*available));
  return false;
}

void HeadspaceMeasurement::measure_decoded(HeadspaceLevel& level) {
  ExperimentOptions variant = experiment_;
  SampleSpec spec = experiment_.decoder.create({})->spec();
  spec.frame = 0;  // what is kept is pixels
  if (spec.height != spec.width || spec.channels != 3) {
    level.absent = "the decoder's samples are no RGB squares, which the raw decoder takes";
    return;
  }
  const int64_t samples = Experiment(experiment_, notify_).dataset().size(Split::train);
  SampleSpec kept = spec;
  kept.type = PixelType::uint8;
  const uint64_t bytes = static_cast<uint64_t>(samples) * kept.bytes();
  if (!has_room(bytes, level)) return;
  std::vector<std::string> names;
  for (const auto& [name, tier] : variant.storage) names.push_back(name);
  if (!tier_.empty()) variant.storage[tier_] = innermost(variant.storage.at(tier_));
  variant.dataset = decoded_in_memory(experiment_.dataset, experiment_.decoder, bytes, names);
  variant.decoder = for_pixels(experiment_.decoder, spec);
  Experiment experiment(std::move(variant), notify_);
  take(measured(experiment), level);
  level.conditions.push_back(megabytes(bytes) + " of pixels; one epoch before to decode them");
}

void HeadspaceMeasurement::measure_encoded(HeadspaceLevel& level) {
  ExperimentOptions variant = experiment_;
  if (tier_.empty()) {
    level.conditions.emplace_back("this data set makes its samples in memory");
  } else {
    const Experiment first(experiment_, notify_);
    uint64_t bytes = 0;
    for (int64_t i = 0; i < first.dataset().size(Split::train); ++i) {
      bytes += first.dataset().info(Split::train, i).bytes;
    }
    if (!has_room(bytes, level)) return;
    variant.storage[tier_] = with_copies_in_memory(innermost(variant.storage.at(tier_)), bytes);
    level.conditions.push_back(megabytes(bytes) + " of files; one epoch before to read them");
  }
  Experiment experiment(std::move(variant), notify_);
  take(measured(experiment), level);
  add_conditions(experiment, level);
}

std::vector<std::string> HeadspaceMeasurement::keys(const Experiment& experiment) const {
  return objects_of(experiment.dataset(), Split::train);
}

void HeadspaceMeasurement::measure_page_cache(HeadspaceLevel& level) {
  if (tier_.empty()) {
    level.absent = "this data set reads no files";
    return;
  }
  ExperimentOptions variant = experiment_;
  variant.storage[tier_] = innermost(variant.storage.at(tier_));
  Experiment experiment(std::move(variant), notify_);
  const FileTree* files = files_of(experiment.tiers().at(tier_));
  if (files == nullptr) {
    level.absent = fmt::format("a tier of type {} has no files",
                               experiment.options().storage.at(tier_).type());
    return;
  }
  const LoaderBenchmark warm = measured(experiment);
  const Residency found = page_cache_residency(*files, keys(experiment));
  const double share = found.cached_share().value_or(0);
  if (!is_warm(share)) {
    level.absent = found.bytes == 0
                       ? "nobody can say whether the page cache holds these files"
                       : fmt::format("the page cache holds {:.0f} % of the files", 100 * share);
    return;
  }
  take(warm, level);
  level.conditions.push_back(
      fmt::format("{:.1f} % of the files' bytes in the page cache afterwards", 100 * share));
  add_conditions(experiment, level);
}

// What a reader of the tiers' figures has to know.
void HeadspaceMeasurement::add_conditions(Experiment& experiment, HeadspaceLevel& level) const {
  for (const TierMeter::State& tier : parts_of_tier(experiment.hub(), tier_)) {
    if (tier.overruns == 0 && tier.conditions.empty()) continue;
    for (const std::string& line : tiers_text({tier})) level.conditions.push_back(line);
  }
}

// Evicts the files and loads one epoch with a new loader. Returns 0 where it was not cold; the
// level then says why.
double HeadspaceMeasurement::cold_epoch(Experiment& experiment, int64_t epoch,
                                        HeadspaceLevel& level) const {
  const FileTree* files = files_of(experiment.tiers().at(tier_));
  double resident = 1;
  if (files != nullptr) resident = evict(*files, keys(experiment)).cached_share().value_or(1);
  if (!is_cold(resident) && !level.emulated) {
    level.absent = fmt::format(
        "the page cache keeps {:.0f} % of these files (tmpfs cannot be cold)", 100 * resident);
    return 0;
  }
  return measure_first_epoch(experiment.data(), experiment.loader_use(Split::train), epoch);
}

void HeadspaceMeasurement::measure_cold(HeadspaceLevel& level) {
  if (tier_.empty()) {
    level.absent = "this data set reads no files";
    return;
  }
  ExperimentOptions variant = experiment_;
  Component<Storage>& tier = variant.storage[tier_];
  tier = without_caches(tier);
  level.emulated = tier.info().emulated;
  const std::string type = tier.type();
  Experiment experiment(std::move(variant), notify_);
  if (files_of(experiment.tiers().at(tier_)) == nullptr && !level.emulated) {
    level.absent = fmt::format("a tier of type {} has no files, and is never cold", type);
    return;
  }
  for (int64_t epoch = 0; epoch < options_.epochs && level.absent.empty(); ++epoch) {
    const double rate = cold_epoch(experiment, epoch, level);
    if (level.absent.empty()) level.images_per_s.push_back(rate);
  }
  if (!level.absent.empty()) level.images_per_s.clear();
  level.conditions.emplace_back("a new loader for each epoch, the page cache emptied before it");
  add_conditions(experiment, level);
}

ResultTable levels_table(const std::vector<HeadspaceLevel>& levels) {
  ResultTable table({{"level", "level"},
                     {"images_per_s", "images/s (min max)"},
                     {"ratio_to_device", "ratio", 2},
                     {"emulated", "emulated"},
                     {"what", "what"},
                     {"absent", ""}});
  const double device = spread(levels.front().images_per_s).median;
  for (const HeadspaceLevel& level : levels) {
    if (level.images_per_s.empty()) {
      table.add({level.name, {}, {}, level.emulated, level.what, level.absent});
      table.note("not measured: " + level.absent);
    } else {
      const Spread rate = spread(level.images_per_s);
      table.add({level.name, rate, rate.median / device, level.emulated, level.what, {}});
      if (level.emulated) table.note("EMULATED: calculated, not measured");
    }
    for (const std::string& condition : level.conditions) table.note(condition);
  }
  return table;
}

}  // namespace

std::vector<HeadspaceLevel> measure_headspace(const ExperimentOptions& experiment,
                                              const HeadspaceArguments& options) {
  // Each level opens the data set anew, which would make the same remarks again.
  std::mutex mutex;
  std::set<std::string> said;
  const Notify once = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    if (said.insert(text).second) print_note(text);
  };
  std::vector<HeadspaceLevel> levels = HeadspaceMeasurement(experiment, options, once).measure();
  add_doubts(levels);
  return levels;
}

void add_doubts(std::vector<HeadspaceLevel>& levels) {
  constexpr double kNoise = 1.1;
  const HeadspaceLevel* above = nullptr;  // the slowest; the device's work is another one
  for (HeadspaceLevel& level : levels) {
    if (level.images_per_s.empty() || level.emulated) continue;
    const Spread rate = spread(level.images_per_s);
    if (std::string busy = rounds_differ(rate); !busy.empty()) level.conditions.push_back(busy);
    if (level.name == "device") continue;
    if (above != nullptr && rate.median > kNoise * spread(above->images_per_s).median) {
      level.conditions.push_back(fmt::format(
          "doubtful: it does all of the work of '{}' and is faster, so other work was on the "
          "machine, or the measurement is too short",
          above->name));
    }
    if (above == nullptr || rate.median < spread(above->images_per_s).median) above = &level;
  }
}

nlohmann::json headspace_json(const HeadspaceArguments& arguments,
                              const ExperimentOptions& experiment,
                              const std::vector<HeadspaceLevel>& levels,
                              const HeadspaceVerdict& verdict) {
  nlohmann::json json = {{"name", "headspace"},
                         {"config", arguments.config},
                         {"loader", to_json(experiment.loader.dump())},
                         {"epochs", arguments.epochs},
                         {"levels", levels_table(levels).json()}};
  for (size_t i = 0; i < levels.size(); ++i) json["levels"][i]["conditions"] = levels[i].conditions;
  if (!verdict.binds_first.empty()) json["binds_first"] = verdict.binds_first;
  if (!verdict.largest_drop.empty()) {
    json["largest_drop"] = {{"level", verdict.largest_drop}, {"factor", verdict.drop}};
  }
  return json;
}

std::string headspace_text(const HeadspaceArguments& arguments, const ExperimentOptions& experiment,
                           const std::vector<HeadspaceLevel>& levels,
                           const HeadspaceVerdict& verdict) {
  const std::string text = fmt::format(
      "{}  loader {}, medians of {}; all but the device without a model\n",
      levels_table(levels).text(), experiment.loader.type(), plural(arguments.epochs, "epoch"));
  if (verdict.binds_first.empty()) {
    return text + "every level that was measured feeds the device: it is the device that binds\n";
  }
  return text +
         fmt::format(
             "{} binds first: from there on the device has to wait\n"
             "the largest drop is at {}: {:.2f} times less than the level above lets through\n",
             verdict.binds_first, verdict.largest_drop, verdict.drop);
}

HeadspaceVerdict judge(const std::vector<HeadspaceLevel>& levels) {
  HeadspaceVerdict verdict;
  double device = 0;
  double above = 0;  // what reaches the device at the level above
  for (const HeadspaceLevel& level : levels) {
    if (level.images_per_s.empty()) continue;
    const double rate = spread(level.images_per_s).median;
    if (device == 0) device = above = rate;
    if (rate < device && verdict.binds_first.empty()) verdict.binds_first = level.name;
    const double reaches = std::min(rate, device);
    if (above / reaches > verdict.drop) {
      verdict.largest_drop = level.name;
      verdict.drop = above / reaches;
    }
    above = reaches;
  }
  return verdict;
}

ExitCode headspace(const HeadspaceArguments& arguments) {
  const ExperimentOptions experiment = read_experiment(arguments.config, arguments.overrides);
  const std::vector<HeadspaceLevel> levels = measure_headspace(experiment, arguments);
  const HeadspaceVerdict verdict = judge(levels);
  return print_result(arguments.json, headspace_json(arguments, experiment, levels, verdict),
                      headspace_text(arguments, experiment, levels, verdict));
}

namespace {

Node component(const std::string& type, const std::vector<std::pair<std::string, Node>>& entries) {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text(type)});
  for (const auto& [key, value] : entries) node.entries.push_back({key, {}, value});
  return node;
}

}  // namespace

Component<Storage> innermost(Component<Storage> tier) {
  while (Component<Storage> inner = tier.inner()) tier = inner;
  return tier;
}

Component<Storage> without_caches(Component<Storage> tier) {
  while (const CachedOptions* cached = tier.options<CachedOptions>()) {
    tier = Component<Storage>(cached->inner);
  }
  return tier;
}

Component<Storage> with_copies_in_memory(const Component<Storage>& tier, uint64_t limit) {
  return parse_component<Storage>(
      component("cached", {{"inner", tier.dump()},
                           {"in", component("memory", {})},
                           {"limit", Node::text(std::to_string(limit))}}));
}

Component<Dataset> decoded_in_memory(const Component<Dataset>& dataset,
                                     const Component<Decoder>& decoder, uint64_t limit,
                                     const std::vector<std::string>& tiers) {
  const DecoderInfo info = decoder.info();
  std::vector<std::string> plain;
  if (info.augments) plain.emplace_back("augment={}");
  if (info.frames) plain.emplace_back("on_device=nothing");
  if (info.output != PixelType::uint8) plain.emplace_back("output=uint8");
  const ConfigContext context{tiers};
  return parse_component<Dataset>(
      component("decoded", {{"inner", dataset.dump()},
                            {"decoder", changed(decoder, plain).dump()},
                            {"in", component("memory", {})},
                            {"limit", Node::text(std::to_string(limit))}}),
      &context);
}

Component<Decoder> for_pixels(const Component<Decoder>& decoder, const SampleSpec& spec) {
  std::vector<std::pair<std::string, Node>> entries;
  for (const char* key : {"height", "width", "size"}) {
    entries.emplace_back(key, Node::text(std::to_string(spec.height)));
  }
  const Node options = decoder.dump();  // to be written down under another type
  for (const char* key : {"augment", "output"}) {
    if (const Node* value = options.find(key)) entries.emplace_back(key, *value);
  }
  return parse_component<Decoder>(component("raw", entries));
}

}  // namespace stoker
