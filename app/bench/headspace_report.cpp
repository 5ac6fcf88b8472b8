#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/json.h"
#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/bench/headspace.h"
#include "app/experiment/options.h"

namespace stoker {
namespace {

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

void print_headspace_json(const HeadspaceArguments& arguments, const ExperimentOptions& experiment,
                          const std::vector<HeadspaceLevel>& levels,
                          const HeadspaceVerdict& verdict) {
  nlohmann::json json = {{"name", "headspace"},
                         {"config", arguments.config},
                         {"loader", to_json(experiment.loader.dump())},
                         {"epochs", arguments.options.epochs},
                         {"levels", levels_table(levels).json()}};
  for (size_t i = 0; i < levels.size(); ++i) json["levels"][i]["conditions"] = levels[i].conditions;
  if (!verdict.binds_first.empty()) json["binds_first"] = verdict.binds_first;
  if (!verdict.largest_drop.empty()) {
    json["largest_drop"] = {{"level", verdict.largest_drop}, {"factor", verdict.drop}};
  }
  fmt::print("{}\n", json.dump());
}

void print_headspace_text(const HeadspaceArguments& arguments, const ExperimentOptions& experiment,
                          const std::vector<HeadspaceLevel>& levels,
                          const HeadspaceVerdict& verdict) {
  fmt::print("{}  loader {}, medians of {} epochs; all but the device without a model\n",
             levels_table(levels).text(), experiment.loader.type(), arguments.options.epochs);
  if (verdict.binds_first.empty()) {
    fmt::print("every level that was measured feeds the device: it is the device that binds\n");
    return;
  }
  fmt::print("{} binds first: from there on the device has to wait\n", verdict.binds_first);
  fmt::print("the largest drop is at {}: {:.2f} times less than the level above lets through\n",
             verdict.largest_drop, verdict.drop);
}

}  // namespace

ExitCode headspace(const HeadspaceArguments& arguments) {
  const ExperimentOptions experiment = read_experiment(arguments.config, arguments.overrides);
  const std::vector<HeadspaceLevel> levels =
      measure_headspace(experiment, arguments.options, print_remark);
  if (arguments.json) {
    print_headspace_json(arguments, experiment, levels, judge(levels));
  } else {
    print_headspace_text(arguments, experiment, levels, judge(levels));
  }
  return ExitCode::ok;
}

}  // namespace stoker
