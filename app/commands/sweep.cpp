#include "app/sweep/sweep.h"

#include "app/commands/commands.h"

namespace stoker {
namespace {

// What the cells of a sweep may run.
void check_cell(const std::vector<std::string>& words) {
  CommandLine line("stoker", "", "");
  add_train(line.root());
  add_bench(line.root());
  line.check(words);
}

}  // namespace

void add_sweep(const Command& program) {
  const auto arguments = std::make_shared<SweepArguments>();
  const Command command = program.add(
      "sweep", "Run an experiment in many settings, each in its own process; goes on where it was");
  command.argument("SWEEP", arguments->file, "a YAML file: base, matrix, repeat, plots, ...")
      .required();
  command.overrides(arguments->overrides, "sweep file");
  command.argument("--set", arguments->set, "an override of every run, after those of the file")
      .shown_as("a.b=c")
      .one_each();
  command.argument("--directory", arguments->directory,
                   "directory of the results; default sweeps/<name>");
  command.flag("--restart", arguments->restart, "throw away what is there and begin anew");
  command.flag("--report-only", arguments->report_only, "run nothing; print what is there");
  command.flag("--check", arguments->check, "check every cell, print them, run nothing");
  command.flag("--json", arguments->json, "print results.json");
  command.run([=] { return sweep(*arguments, check_cell); });
}

}  // namespace stoker
