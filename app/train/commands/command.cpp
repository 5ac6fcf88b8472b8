#include "app/base/command_line.h"
#include "app/experiment/experiment_options.h"
#include "app/run/environment.h"
#include "app/train/train.h"

namespace stoker {
namespace {

void add_train(const Command& program) {
  const Command command =
      program.add("train", "Run an experiment. Its results are left in a run directory.");
  TrainArguments& arguments = command.run(train);
  command.config(arguments);
  command.flag("-q,--quiet", arguments.quiet,
               "Print only warnings and errors. The results are in the run directory all the same: "
               "`latest` in run.dir.");
}

void add_launch(const Command& program) {
  const Command command = program.add("launch",
                                      "Run an experiment on several ranks of this machine. To use "
                                      "several machines, start it by torchrun, mpirun or srun.");
  LaunchArguments& arguments = command.run(launch);
  command.config(arguments);
  command.argument("-n,--ranks", arguments.ranks, "Number of ranks. Each is a process.")
      .required()
      .range(1, 1024);
  command.flag("-q,--quiet", arguments.quiet,
               "Print only warnings and errors. The results are in the run directory all the same: "
               "`latest` in run.dir.");
}

void add_check(const Command& program) {
  const Command command = program.add(
      "check", "Check a configuration and print it with every default. No data is touched.");
  ConfigArguments& arguments = command.run(check_experiment);
  command.config(arguments);
}

void add_environment(const Command& program) {
  const Command command = program.add("environment",
                                      "Print versions, the machine and its GPUs, and which "
                                      "optional parts work here, or why they do not.");
  EnvironmentArguments& arguments = command.run(print_environment);
  command.flag("--json", arguments.json, "Print JSON.");
}

const RegisteredCommand train_command("train", add_train);
const RegisteredCommand launch_command("launch", add_launch);
const RegisteredCommand check_command("check", add_check);
const RegisteredCommand environment_command("environment", add_environment);

}  // namespace
}  // namespace stoker
