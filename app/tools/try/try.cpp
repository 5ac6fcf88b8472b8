#include "app/tools/try/try.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/experiment/experiment_options.h"
#include "app/tools/bench_train/headspace.h"
#include "app/tools/data/inspect.h"
#include "app/tools/data/own_data.h"
#include "io/core/config/config.h"
#include "io/core/system/file.h"
#include "io/metrics/spread.h"

namespace stoker {
namespace {

constexpr double kLookedAt = 2000;  // samples
constexpr HeadspaceArguments kShort{{}, 2, 4};

// Bad samples are found, and do not end this.
DatasetReport look_at(Node experiment) {
  apply_override(experiment, "dataset.on_error={policy: skip, budget: 100%}");
  return inspect_data(read_data_tree(experiment, print_note), {kLookedAt, false});
}

std::string decoder_text(const DatasetReport& report) {
  int64_t all = 0;
  for (const auto& [kind, count] : report.kinds) all += count;
  const int64_t others = all - report.jpegs;
  if (all == 0) return "decoder auto: it could read none of these";
  if (others == 0) return "decoder auto: all are JPEG, which `jpeg` decodes";
  if (report.jpegs == 0) return "decoder auto: none are JPEG, so `opencv` decodes them";
  return fmt::format("decoder auto: {} JPEG files by `jpeg`, {} others by `opencv`", report.jpegs,
                     others);
}

// Writes the experiment, and returns where to.
std::string write_experiment(const TryArguments& arguments, const OwnData& own) {
  const std::string path = arguments.to.empty() ? own.name + ".yaml" : arguments.to;
  const std::string text =
      fmt::format("# Made by `stoker try`, of {}.\n{}\n", own.what, to_yaml(own.experiment));
  const std::optional<std::string> there = read_if_there(path);
  if (there && *there != text) {
    throw Error(ExitCode::environment,
                path + ": exists and says something else: name another file by --to FILE");
  }
  if (!there) atomic_write_file(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return path;
}

}  // namespace

ExitCode try_data(const TryArguments& arguments) {
  OwnData own = own_data(arguments.config);
  for (const std::string& assignment : arguments.overrides) {
    apply_override(own.experiment, assignment);
  }
  const DatasetReport report = look_at(own.experiment);
  fit_to_data(report, own.experiment);
  const std::string path = write_experiment(arguments, own);

  const SmallerData smaller = smaller_data(report, own.experiment);
  Node measured = own.experiment;
  for (const std::string& assignment : smaller.overrides) apply_override(measured, assignment);
  const ExperimentOptions experiment = read_experiment_tree(measured, print_note);
  HeadspaceArguments short_levels = kShort;
  short_levels.config = path;
  const std::vector<HeadspaceLevel> levels = measure_headspace(experiment, short_levels);
  const HeadspaceVerdict verdict = judge(levels);
  const std::string sentence = own_sentence(levels);

  const nlohmann::json json{
      {"what", own.what},
      {"data", report},
      {"headspace", headspace_json(short_levels, experiment, levels, verdict)},
      {"measured_with", smaller.text},
      {"sentence", sentence},
      {"experiment", path}};
  std::string text =
      fmt::format("{}: {}\n{}{}\n\n{}", arguments.config, own.what,
                  inspection_text(report, experiment.decoder.type()), decoder_text(report),
                  headspace_text(short_levels, experiment, levels, verdict));
  if (!smaller.text.empty()) text += smaller.text + "\n";
  text +=
      fmt::format("\n{}\n\nThe experiment is in {}. Next: stoker train {}\n", sentence, path, path);
  return print_result(arguments.json, json, text);
}

namespace {

constexpr int64_t kMeasured = 4000;  // samples, of which all are loaded some times

int64_t training_samples(const DatasetReport& report) {
  int64_t samples = 0;
  for (const ClassCount& row : report.classes) samples += row.train;
  return samples;
}

}  // namespace

void fit_to_data(const DatasetReport& report, Node& experiment) {
  const int64_t samples = training_samples(report);
  const Node* loader = experiment.find("loader");
  const Node* given = loader == nullptr ? nullptr : loader->find("batch_size");
  double batch = 0;
  if (given != nullptr && parse_number(given->scalar, batch) &&
      batch > static_cast<double>(samples)) {
    apply_override(experiment, fmt::format("loader.batch_size={}", std::max<int64_t>(1, samples)));
  }
  const auto bad = std::ssize(report.unreadable);
  if (bad == 0 && report.looked_at == report.samples) return;
  // Twice what was seen of those that were looked at, and one in a hundred more.
  const double seen =
      static_cast<double>(bad) / static_cast<double>(std::max<int64_t>(1, report.looked_at));
  apply_override(experiment, fmt::format("dataset.on_error={{policy: skip, budget: {:.0f}%}}",
                                         std::clamp(std::ceil(200 * seen), 1.0, 99.0)));
}

SmallerData smaller_data(const DatasetReport& report, const Node& experiment) {
  const int64_t samples = training_samples(report);
  const Node* dataset = experiment.find("dataset");
  const Node* type = dataset == nullptr ? nullptr : dataset->find("type");
  if (samples <= kMeasured || type == nullptr || type->scalar != "image_folder") return {};
  const int64_t each = std::max<int64_t>(1, kMeasured / std::ssize(report.classes));
  std::vector<std::string> small;
  for (const ClassCount& row : report.classes) {
    if (row.train + row.test < each) small.push_back("\"" + row.name + "\"");
  }
  const int64_t classes = std::ssize(report.classes) - std::ssize(small);
  if (classes == 0) return {};
  SmallerData smaller;
  // What tests lies beside that, in a folder or in none.
  const bool apart = dataset->find("test_folder") != nullptr;
  if (apart) smaller.overrides.emplace_back("dataset.test_folder=");
  smaller.overrides.push_back(
      fmt::format("dataset.split={{train_per_class: {}, test_per_class: 0}}", each));
  if (!small.empty()) {
    smaller.overrides.push_back(fmt::format("dataset.exclude=[{}]", fmt::join(small, ", ")));
  }
  smaller.text = fmt::format("measured with {} of the {} images: {} of each class", each * classes,
                             samples, each);
  return smaller;
}

namespace {

// Images/s of the level of this name; 0: it was not measured.
double rate_of(const std::vector<HeadspaceLevel>& levels, const std::string& name) {
  const auto level = std::ranges::find(levels, name, &HeadspaceLevel::name);
  const bool measured = level != levels.end() && !level->images_per_s.empty();
  return measured ? spread(level->images_per_s).median : 0;
}

}  // namespace

std::string own_sentence(const std::vector<HeadspaceLevel>& levels) {
  const double device = rate_of(levels, "device"), encoded = rate_of(levels, "encoded"),
               cached = rate_of(levels, "page_cache"), cold = rate_of(levels, "cold");
  const std::string first = judge(levels).binds_first;
  const std::string trains = fmt::format("the model takes {:.0f} images/s here", device);
  if (first.empty()) {
    const double comes = cold > 0 ? cold : cached > 0 ? cached : encoded;
    return fmt::format(
        "Computing binds: {}, and this folder gives {:.0f}{}; faster storage and more workers "
        "would change nothing.",
        trains, comes, cold > 0 ? " even where no cache holds it" : "");
  }
  if (first == "cold") {
    return fmt::format(
        "Storage binds: {}, and files that no cache holds come at {:.0f}; once they are in memory "
        "it is {:.0f}.",
        trains, cold, std::max(cached, encoded));
  }
  if (first == "page_cache") {
    return fmt::format(
        "Reading binds: {}, and files come at {:.0f} even from the page cache; fewer and larger "
        "files would help (stoker dataset convert).",
        trains, cached);
  }
  if (first == "encoded") {
    return fmt::format(
        "Decoding binds: {}, and {:.0f} are decoded; more cores, smaller images or kept pixels "
        "(dataset.type=decoded) would help, faster storage would not.",
        trains, encoded);
  }
  return fmt::format(
      "Loading binds: {}, and even pixels that are in memory come at {:.0f}; more workers may "
      "help.",
      trains, rate_of(levels, "decoded"));
}

}  // namespace stoker
