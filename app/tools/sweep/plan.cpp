#include "app/tools/sweep/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "app/tools/sweep/grid.h"
#include "io/core/digest.h"
#include "io/core/error.h"

namespace stoker {
namespace {

// The product of the axes from `axis` on, appended to `cells`.
void expand(const SweepMatrix& matrix, size_t axis, const SweepCell& so_far,
            std::vector<SweepCell>& cells) {
  if (axis == matrix.axes.size()) {
    cells.push_back(so_far);
    return;
  }
  for (const AxisValue& value : matrix.axes[axis].values) {
    SweepCell cell = so_far;
    cell.at[matrix.axes[axis].key] = value.name;
    for (const Word& setting : value.settings) {
      if (is_sweep_command(setting.text)) {
        cell.command = setting;
      } else {
        (setting.text.starts_with("--") ? cell.arguments : cell.overrides).push_back(setting);
      }
    }
    expand(matrix, axis + 1, cell, cells);
  }
}

void exclude(const SweepOptions& options, std::vector<SweepCell>& cells) {
  for (const CellPattern& pattern : options.exclude) {
    if (std::erase_if(cells, [&](const SweepCell& cell) { return pattern.matches(cell.at); }) > 0) {
      continue;
    }
    throw Error(ExitCode::config, pattern.at.text() + ": exclude: " + pattern.text() +
                                      " matches no cell that is not excluded already");
  }
  if (cells.empty()) {
    throw Error(ExitCode::config, options.exclude.back().at.text() +
                                      ": exclude: nothing is left: every cell is excluded");
  }
}

std::string hash_of(const SweepCell& cell, const std::string& config_hash) {
  std::string text = fmt::format("{}\n{}\n", config_hash, cell.command.text);
  for (const Word& argument : cell.arguments) text += argument.text + "\n";
  return xxh3_64(text);
}

}  // namespace

std::vector<std::string> command_words(const SweepCell& cell, const std::string& config) {
  std::istringstream stream(cell.command.text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  const size_t names = words.front() == "bench" ? 2 : 1;
  words.insert(words.begin() + static_cast<ptrdiff_t>(std::min(names, words.size())),
               words.front() == kSimulate ? "--machine=" + config : config);
  return words;
}

std::string commands_text(const SweepPlan& plan) {
  std::vector<std::string> commands;
  for (const SweepCell& cell : plan.cells) {
    if (std::ranges::find(commands, cell.command.text) == commands.end()) {
      commands.push_back(cell.command.text);
    }
  }
  return fmt::format("{}", fmt::join(commands, ", "));
}

SweepPlan plan_sweep(const SweepOptions& options, const ReadExperiment& read_experiment) {
  SweepPlan plan;
  SweepCell common;
  common.overrides = options.set;
  common.arguments = options.arguments;
  common.command = options.command;
  expand(options.matrix, 0, common, plan.cells);
  exclude(options, plan.cells);
  for (SweepCell& cell : plan.cells) {
    try {
      CellExperiment experiment = read_experiment(cell);
      cell.hash = hash_of(cell, experiment.hash);
      cell.mounts = std::move(experiment.mounts);
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("{} (in the cell {})", error.what(), text(options.matrix, cell.at)));
    }
  }
  const auto repeats = static_cast<size_t>(options.repeat);
  for (size_t i = 0; i < plan.cells.size() * repeats; ++i) {
    const size_t cell = options.interleave ? i % plan.cells.size() : i / repeats;
    const size_t repeat = options.interleave ? i / plan.cells.size() : i % repeats;
    plan.runs.push_back({cell, static_cast<int64_t>(repeat)});
  }
  plan.whole = plan.runs.size();
  return plan;
}

void leave_only(SweepPlan& plan, const SweepMatrix& matrix, const std::vector<std::string>& only) {
  CellPattern pattern;
  for (const std::string& word : only) {
    const size_t equals = std::min(word.find('='), word.size());
    CellPattern::Term term{Word(word.substr(0, equals)), {}};
    const SweepAxis* axis = matrix.find(term.axis.text);
    if (axis == nullptr) {
      throw Error(ExitCode::config,
                  fmt::format("--only: '{}' is no axis of the matrix{}", term.axis.text,
                              suggestion(term.axis.text, matrix.keys())));
    }
    const std::string text = word.substr(std::min(word.size(), equals + 1));
    // A name may have a comma in it.
    const bool whole = axis->find(text) != std::string::npos;
    for (const std::string& name : whole ? std::vector{text} : values_in(text)) {
      if (axis->find(name) == std::string::npos) {
        throw Error(ExitCode::config, fmt::format("--only: '{}' has no value '{}'{}", axis->key,
                                                  name, suggestion(name, axis->names())));
      }
      term.names.emplace_back(name);
    }
    pattern.terms.push_back(std::move(term));
  }
  std::erase_if(plan.runs,
                [&](const SweepRun& run) { return !pattern.matches(plan.cells[run.cell].at); });
  if (plan.runs.empty()) {
    throw Error(ExitCode::config, "--only: no cell of the sweep has " + pattern.text());
  }
}

}  // namespace stoker
