#include "app/tools/sweep/sweep.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/experiment/experiment_options.h"
#include "app/process/provenance.h"
#include "app/tools/report/report.h"
#include "app/tools/simulate/inputs.h"
#include "app/tools/sweep/findings.h"
#include "app/tools/sweep/results.h"
#include "app/tools/sweep/runner.h"
#include "io/core/digest.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

Node load_base(const std::string& path, const std::string& command) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    return command == kSimulate ? load_yaml(path) : load_experiment(path);
  throw Error(
      ExitCode::config,
      "sweep: 'base' must be the path of an experiment or its contents: there is no file '" + path +
          "'");
}

std::string now_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

// Is the option or word part of the message as a whole?
bool mentions(const std::string& message, const std::string& word) {
  const auto inside = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-';
  };
  for (size_t at = message.find(word); at != message.npos; at = message.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !inside(message[at - 1])) && (end == message.size() || !inside(message[end]))) {
      return true;
    }
  }
  return false;
}

// A command line, read as it will be, and not run. Its error is at that one of `given` which it
// names, else at the first.
void check_words(const std::vector<std::string>& words, const std::vector<Word>& given,
                 const CheckWords& check, const std::string& where) {
  try {
    check(words);
  } catch (const Error& error) {
    const std::string what = error.what();
    const auto blamed = std::ranges::find_if(given, [&](const Word& word) {
      return mentions(what, word.text.substr(0, word.text.find('=')));
    });
    const Position& at = (blamed == given.end() ? given.front() : *blamed).at;
    throw Error(ExitCode::config, fmt::format("{}: stoker {}: {} ({})", at.text(),
                                              fmt::join(words, " "), what, where));
  }
}

// What is run before the first cell, and the command of every cell.
void check_commands(const SweepOptions& options, const SweepPlan& plan, const SweepMounts& mounts,
                    const CheckWords& check) {
  for (const SweepPreparation& step : options.prepare) {
    check_words(words_of(step), step.run, check, "in prepare");
  }
  for (const auto& [name, mount] : options.mounts) {
    if (!mount.arguments.empty()) {
      check_words(mounts.words(name), mount.arguments, check, "in mounts");
    }
  }
  for (const SweepCell& cell : plan.cells) {
    std::vector<std::string> words = command_words(cell, "CONFIG");
    std::vector<Word> given = {cell.command};
    given.insert(given.end(), cell.arguments.begin(), cell.arguments.end());
    for (const Word& argument : cell.arguments) words.push_back(argument.text);
    words.emplace_back("--json");
    check_words(words, given, check, "in the cell " + text(options.matrix, cell.at));
  }
}

// Checks the tier of `bench storage TIER`, which is all that a command's own parser does not know.
void check_tier(const ExperimentOptions& experiment, const Word& command) {
  constexpr std::string_view kStorage = "bench storage ";
  if (!command.text.starts_with(kStorage)) return;
  try {
    find_tier(experiment, command.text.substr(kStorage.size()));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", command.at.text(), error.what()));
  }
}

SweepPlan checked_plan(const SweepOptions& options, const SweepMounts& mounts,
                       const CheckWords& check) {
  const Node base = options.base.path.empty() ? options.base.experiment
                                              : load_base(options.base.path, options.command.text);
  SweepPlan plan = plan_sweep(options, [&](const SweepCell& cell) {
    Node tree = base;
    for (const Word& assignment : cell.overrides) apply_override(tree, assignment);
    if (cell.command.text == kSimulate) {
      static_cast<void>(read_simulation(tree));
      return CellExperiment{xxh3_64(to_yaml(tree)), {}};
    }
    const ExperimentOptions experiment = read_experiment_tree(tree);
    check_tier(experiment, cell.command);
    CellExperiment result{config_hash(experiment), mounts.below(tier_folders(experiment))};
    for (const std::string& name : result.mounts) {
      result.hash += "\n" + to_yaml(dump_struct(options.mounts.at(name)));
    }
    return result;
  });
  check_commands(options, plan, mounts, check);
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
  const nlohmann::json machine = describe_machine(path);
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

SweepOutcome sweep_once(const SweepArguments& arguments, const CheckWords& check) {
  SweepOptions options = read_sweep(arguments.file, arguments.overrides);
  if (arguments.shorten) options.shorten();
  for (const std::string& assignment : arguments.set) options.set.emplace_back(assignment);
  const std::string path = arguments.directory.empty()
                               ? "sweeps/" + options.name + (options.shortened ? "-short" : "")
                               : arguments.directory;
  Scratch scratch(path, options.name);
  setenv("STOKER_SWEEP_BASE", base_file(options, path).c_str(), 1);
  SweepMounts mounts(options, path);
  SweepPlan plan = checked_plan(options, mounts, check);
  leave_only(plan, options.matrix, arguments.only);
  if (options.shortened) leave_only(plan, options.matrix, options.short_form.only);
  if (arguments.check) return {ExitCode::ok, false, nullptr, "", plan_text(options, plan)};
  const SweepDirectory directory(options, path, arguments.restart);
  SweepResults results = open_results(options, plan, directory, path);
  directory.write_definition();
  const StopSignal stop;
  bool done = true;
  if (!arguments.report_only) {
    const SweepRunner runner(options, plan, directory, mounts, stop);
    runner.prepare();
    done = !stop.requested() && runner.run(results, scratch);
    if (done && results.rows.size() == plan.whole) results.finished = now_utc();
  }
  directory.write(plan, results);
  nlohmann::json json = results_json(options, plan, results, path);
  directory.write_file("report.html", sweep_page({json}));
  std::string text = fmt::format("{}results: {}, {}, {}\n", results_text(options, plan, results),
                                 directory.path("report.html"), directory.path("results.json"),
                                 directory.path("results.csv"));
  return {done ? outcome(options, plan, results) : stop.exit_code(), !done, std::move(json),
          conditions_text(results), std::move(text)};
}

ExitCode sweep(const SweepArguments& arguments, const CheckWords& check) {
  const SweepOutcome outcome = sweep_once(arguments, check);
  if (arguments.json && !arguments.check) {
    fmt::print("{}\n", json_text(outcome.results));
  } else {
    fmt::print("{}", outcome.text);
  }
  return outcome.code;
}

}  // namespace stoker
