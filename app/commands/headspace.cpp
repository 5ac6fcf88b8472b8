#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/bench/headspace.h"
#include "app/base/json.h"
#include "app/run/log.h"
#include "app/base/statistics.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  HeadspaceOptions options;
  bool json = false;
};

nlohmann::json rung_json(const Rung& rung, double device) {
  nlohmann::json json = {{"rung", rung.name},
                         {"what", rung.what},
                         {"emulated", rung.emulated},
                         {"conditions", rung.conditions}};
  if (rung.images_per_s.empty()) {
    json["absent"] = rung.absent;
    return json;
  }
  const Spread rate = spread(rung.images_per_s);
  json["images_per_s"] = {{"min", rate.min}, {"median", rate.median}, {"max", rate.max}};
  json["ratio_to_device"] = rate.median / device;
  return json;
}

void print_json(const Arguments& arguments, const ExperimentOptions& experiment,
                const std::vector<Rung>& rungs, const HeadspaceVerdict& verdict) {
  const double device = spread(rungs.front().images_per_s).median;
  nlohmann::json json = {{"name", "headspace"},
                         {"config", arguments.config},
                         {"loader", to_json(experiment.loader.dump())},
                         {"epochs", arguments.options.epochs},
                         {"rungs", nlohmann::json::array()}};
  for (const Rung& rung : rungs) json["rungs"].push_back(rung_json(rung, device));
  if (!verdict.binds_first.empty()) json["binds_first"] = verdict.binds_first;
  if (!verdict.largest_drop.empty()) {
    json["largest_drop"] = {{"rung", verdict.largest_drop}, {"factor", verdict.drop}};
  }
  fmt::print("{}\n", json.dump());
}

void print_rung(const Rung& rung, double device) {
  if (rung.images_per_s.empty()) {
    fmt::print("{:<11}         -                              {}: not measured: {}\n", rung.name,
               rung.what, rung.absent);
    return;
  }
  const Spread rate = spread(rung.images_per_s);
  fmt::print("{:<11}  {:8.0f}  ({:6.0f}  {:6.0f})  {:6.2f}  {}{}\n", rung.name, rate.median,
             rate.min, rate.max, rate.median / device, rung.what,
             rung.emulated ? "; EMULATED: calculated, not measured" : "");
  for (const std::string& condition : rung.conditions) fmt::print("{:45}{}\n", "", condition);
}

void print_table(const Arguments& arguments, const ExperimentOptions& experiment,
                 const std::vector<Rung>& rungs, const HeadspaceVerdict& verdict) {
  const double device = spread(rungs.front().images_per_s).median;
  fmt::print("rung         images/s  (   min     max)  ratio\n");
  for (const Rung& rung : rungs) print_rung(rung, device);
  fmt::print("  loader {}, medians of {} epochs; but for the device without a model\n",
             experiment.loader.type(), arguments.options.epochs);
  if (verdict.binds_first.empty()) {
    fmt::print("every rung that was measured feeds the device: it is the device that binds\n");
    return;
  }
  fmt::print("{} binds first: from there on the device has to wait\n", verdict.binds_first);
  fmt::print("the largest drop is at {}: {:.2f} times less than the rung above lets through\n",
             verdict.largest_drop, verdict.drop);
}

void run(const Arguments& arguments) {
  RunLog log(false);
  const ExperimentOptions experiment = read_experiment(arguments.config, arguments.overrides);
  const std::vector<Rung> rungs = measure_headspace(experiment, arguments.options, log.notify());
  if (arguments.json) {
    print_json(arguments, experiment, rungs, judge(rungs));
  } else {
    print_table(arguments, experiment, rungs, judge(rungs));
  }
}

}  // namespace

void add_headspace(CLI::App& app, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "headspace",
      "Rates from the device alone down to the cold tier, and which of them binds first");
  add_config_arguments(*command, *arguments);
  command->add_option("--epochs", arguments->options.epochs, "measured epochs of each rung")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--steps", arguments->options.steps, "steps of the device, as often")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] {
    run(*arguments);
    result = ExitCode::ok;
  });
}

}  // namespace stoker
