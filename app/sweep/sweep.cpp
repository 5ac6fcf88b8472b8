#include "app/sweep/sweep.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "app/analysis/report_page.h"
#include "app/experiment/options.h"
#include "app/run/environment.h"
#include "app/sweep/findings.h"
#include "app/sweep/runner.h"
#include "app/sweep/text.h"
#include "io/core/json.h"

namespace stoker {
namespace {

std::string now_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

// The command line of every cell is read as it will be, and nothing is run.
void check_cells(const SweepOptions& options, const SweepPlan& plan, const CheckWords& check) {
  for (const SweepCell& cell : plan.cells) {
    std::vector<std::string> words = command_words(options);
    words.emplace_back("CONFIG");
    words.insert(words.end(), cell.arguments.begin(), cell.arguments.end());
    words.emplace_back("--json");
    try {
      check(words);
    } catch (const Error& error) {
      throw Error(ExitCode::config, fmt::format("sweep {}: cell {}: stoker {} {}: {}", options.name,
                                                text(options.matrix, cell.at), options.command,
                                                fmt::join(cell.arguments, " "), error.what()));
    }
  }
}

SweepPlan checked_plan(const SweepOptions& options, const CheckWords& check) {
  SweepPlan plan = plan_sweep(options, [&](const std::vector<std::string>& overrides) {
    return config_hash(options.base.path.empty()
                           ? read_experiment_tree(options.base.experiment, overrides)
                           : read_experiment(options.base.path, overrides));
  });
  check_cells(options, plan, check);
  return plan;
}

SweepResults open_results(const SweepOptions& options, const SweepPlan& plan,
                          const SweepDirectory& directory, const std::string& path) {
  SweepResults results = directory.results();
  const std::string change = definition_change(options, plan, results);
  if (!change.empty()) {
    throw Error(ExitCode::config,
                fmt::format("{} holds results of another definition of sweep {}: {}; give this one "
                            "another --directory, or --restart to throw them away",
                            path, options.name, change));
  }
  nlohmann::json machine = describe_environment(DeviceInfo{}, path);
  for (const char* of_one_run : {"device", "command", "schema_version"}) machine.erase(of_one_run);
  if (results.rows.empty()) {
    results = {machine, now_utc(), "", {}, {}};
  } else if (results.machine != machine) {
    results.notes.push_back(fmt::format(
        "{}: continued by another build, machine or kernel than it was begun with", now_utc()));
  }
  return results;
}

ExitCode outcome(const SweepOptions& options, const SweepPlan& plan, const SweepResults& results) {
  for (const SweepFinding& finding : judge(options, plan, results)) {
    if (finding.verdict == FindingVerdict::outside) return ExitCode::threshold;
  }
  for (const SweepRow& row : results.rows) {
    if (!row.ok()) return known_code(row.exit_code);
  }
  return ExitCode::ok;
}

}  // namespace

ExitCode sweep(const SweepArguments& arguments, const CheckWords& check) {
  SweepOptions options = read_sweep(arguments.file, arguments.overrides);
  options.set.insert(options.set.end(), arguments.set.begin(), arguments.set.end());
  const std::string path =
      arguments.directory.empty() ? "sweeps/" + options.name : arguments.directory;
  Scratch scratch(path, options.name);
  const SweepPlan plan = checked_plan(options, check);
  if (arguments.check) {
    fmt::print("{}", plan_text(options, plan));
    return ExitCode::ok;
  }
  const SweepDirectory directory(options, path, arguments.restart);
  SweepResults results = open_results(options, plan, directory, path);
  directory.write_definition();
  const StopSignal stop;
  bool done = true;
  if (!arguments.report_only) {
    const SweepRunner runner(options, plan, directory, stop);
    runner.prepare();
    done = !stop.requested() && runner.run(results, scratch);
    if (done) results.finished = now_utc();
  }
  directory.write(plan, results);
  const nlohmann::json json = results_json(options, plan, results, path);
  directory.write_file("report.html", sweep_page({json}));
  if (arguments.json) {
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}results: {}, {}, {}\n", results_text(options, plan, results),
               directory.path("report.html"), directory.path("results.json"),
               directory.path("results.csv"));
  }
  return done ? outcome(options, plan, results) : stop.exit_code();
}

}  // namespace stoker
