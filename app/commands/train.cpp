#include "app/train/train.h"

#include "app/commands/commands.h"
#include "app/run/environment.h"
#include "app/run/healthcheck.h"
#include "app/train/checkpoint_listing.h"
#include "app/train/launch.h"

namespace stoker {
namespace {

void add_shared(const Command& command, CheckpointArguments& arguments) {
  command
      .argument("WHERE", arguments.config,
                "experiment (YAML), a directory with step-... in it, or one of these")
      .required();
  command.overrides(arguments.overrides);
  command.flag("--json", arguments.json, "print JSON");
}

}  // namespace

void add_train(const Command& program) {
  const Command command = program.add("train", "Run an experiment; leaves a run directory");
  TrainArguments& arguments = command.run(train);
  command.config(arguments);
  command.flag("-q,--quiet", arguments.quiet, "print warnings and errors only");
}

void add_launch(const Command& program) {
  const Command command = program.add(
      "launch",
      "Run an experiment on many ranks of this machine (elsewhere: torchrun, mpirun, srun)");
  LaunchArguments& arguments = command.run(launch);
  command.config(arguments);
  command.argument("-n,--ranks", arguments.ranks, "processes").required().range(1, 1024);
  command.flag("-q,--quiet", arguments.quiet, "print warnings and errors only");
}

void add_checkpoint(const Command& program) {
  const Command checkpoint = program.add_group("checkpoint", "Look at the checkpoints of a run");
  const Command list = checkpoint.add("list", "Sets on every tier: step, state, age, size");
  add_shared(list, list.run(list_checkpoints));

  const Command verify = checkpoint.add(
      "verify", "Read every byte of the newest sets; exit code 5 where one is damaged");
  CheckpointArguments& arguments = verify.run(verify_checkpoints);
  add_shared(verify, arguments);
  verify.flag("--all", arguments.all, "every set, not only the newest");
}

void add_environment(const Command& program) {
  const Command command = program.add(
      "environment", "Versions, machine and GPUs; which optional parts work here, and why not");
  EnvironmentArguments& arguments = command.run(print_environment);
  command.flag("--json", arguments.json, "print JSON");
}

void add_healthcheck(const Command& program) {
  const Command command = program.add(
      "healthcheck", "Ask a run whether it makes progress: exit code 0 yes, 7 no, 3 no answer");
  HealthArguments& arguments = command.run(check_health);
  command.argument("ADDRESS", arguments.address, "where the run's sink `prometheus` listens")
      .or_environment("STOKER_LISTEN");
  command.flag("--json", arguments.json, "print JSON");
}

}  // namespace stoker
