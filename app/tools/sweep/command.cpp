#include <utility>

#include "app/base/command_line.h"
#include "app/commands/commands.h"
#include "app/tools/sweep/matrix.h"
#include "app/tools/sweep/studies.h"
#include "app/tools/sweep/sweep.h"

namespace stoker {
namespace {

ExitCode run_sweep(const SweepArguments& arguments) {
  CommandLine line("stoker", "", "");  // what a sweep may run
  for (const char* name :
       {"train", "launch", "bench", "dataset", "checkpoint", "headspace", kSimulate}) {
    add_command(line.root(), name);
  }
  bool mounts = false;  // its library is loaded for sweeps that mount
  const auto check = [&](const std::vector<std::string>& words) {
    if (words.front() == "mount" && !std::exchange(mounts, true)) {
      add_command(line.root(), "mount");
    }
    line.check(words);
  };
  return is_studies(arguments.file) ? run_studies(arguments, check) : sweep(arguments, check);
}

void add_sweep(const Command& program) {
  const auto arguments = std::make_shared<SweepArguments>();
  const Command command =
      program.add("sweep",
                  "Run an experiment in many settings, each in its own process. After an "
                  "interruption, the same command goes on where it stopped.");
  command
      .argument(
          "SWEEP", arguments->file,
          "The sweep, a YAML file with base, matrix, repeat, plots, ...; or an experiment, with "
          "the axes after it; or several sweeps by study (configs/paper/all.yaml).")
      .required();
  command
      .argument("OVERRIDES", arguments->overrides,
                "Sets the key a.b of the sweep file to this value; behind an experiment, "
                "loader.workers=1,2,4 is an axis, and loader.batch_size=16 holds for every run.")
      .shown_as("a.b=c");
  command
      .argument("--only", arguments->only,
                "Run a part of the sweep: the cells with this value, or one of these values, on an "
                "axis. What depends on the other cells is not measured yet.")
      .shown_as("AXIS=VALUE")
      .one_each();
  command
      .argument("--set", arguments->set,
                "An override for every run. It counts after those of the file.")
      .shown_as("a.b=c")
      .one_each();
  command.argument("--directory", arguments->directory,
                   "Directory for the results. The default is sweeps/<name>.");
  command.flag("--short", arguments->shorten,
               "Run the short form that the file describes, in sweeps/<name>-short. Its findings "
               "are not judged.");
  command.flag("--restart", arguments->restart,
               "Remove earlier results of this sweep and begin anew.");
  command.flag("--report-only", arguments->report_only,
               "Run nothing, and print the results that are there.");
  command.flag("--check", arguments->check, "Check every cell and print them, but run nothing.");
  command.flag("--json", arguments->json, "Print results.json.");
  command.run([=] { return run_sweep(*arguments); });
}

const RegisteredCommand sweep_command("sweep", add_sweep);

}  // namespace
}  // namespace stoker
