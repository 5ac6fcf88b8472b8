#include "app/tools/try/try.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/experiment/experiment_options.h"
#include "app/tools/bench_train/headspace.h"
#include "app/tools/data/inspect.h"
#include "app/tools/data/own_data.h"
#include "app/tools/try/own_experiment.h"
#include "app/tools/try/sentence.h"
#include "io/core/config/config.h"
#include "io/core/system/file.h"

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

}  // namespace stoker
