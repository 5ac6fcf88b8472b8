#include "app/base/tool_command.h"
#include "app/commands/commands.h"
#include "app/tools/sweep/sweep.h"

namespace stoker {
namespace {

ExitCode run_sweep(const SweepArguments& arguments) {
  CommandLine line("stoker", "", "");  // what a sweep may run
  for (const char* name : {"train", "launch", "bench", "dataset", "checkpoint", "headspace"}) {
    add_command(line.root(), name);
  }
  return sweep(arguments, [&line](const std::vector<std::string>& words) { line.check(words); });
}

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
  command.run([=] { return run_sweep(*arguments); });
}

const ToolCommand sweep_command("sweep", add_sweep);

}  // namespace
}  // namespace stoker
