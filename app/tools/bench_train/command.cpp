#include "app/base/command_line.h"
#include "app/tools/bench_train/headspace.h"
#include "app/tools/bench_train/train.h"

namespace stoker {
namespace {

void add_bench_train(const Command& bench) {
  const Command command = bench.add(
      "train",
      "Measure some steps of the configured training for each division of the cores between "
      "computing and loading, or measure the trainer beside a bare loop.");
  TrainBenchArguments& arguments = command.run(bench_train);
  command.config(arguments);
  command
      .argument("--threads", arguments.threads,
                "Values of training.threads, e.g. 1,2,4. The default is the powers of two up to "
                "the number of cores.")
      .range(1, 1024);
  command
      .argument("--workers", arguments.workers,
                "Values of loader.workers. The default is the same as for --threads.")
      .range(1, 1024);
  command.argument("--steps", arguments.steps, "Number of measured steps in each round.")
      .range(1, 1000000);
  command
      .argument("--warm-up", arguments.warm_up,
                "Number of steps before the measured ones in each round.")
      .range(0, 1000000);
  command
      .argument("--rounds", arguments.rounds,
                "Number of rounds. Each variant has its turn in every round.")
      .range(1, 1000000);
  const Argument bare = command.flag("--bare", arguments.bare,
                                     "Measure the trainer beside the same steps without it, on one "
                                     "batch that lies on the device.");
  command
      .argument("--at-most", arguments.at_most,
                "Exit with code 7 where the trainer's overhead (by the medians) is more than this "
                "many percent.")
      .positive()
      .needs(bare);
}

void add_headspace(const Command& program) {
  const Command command = program.add("headspace",
                                      "Measure the rate of each level, from the device alone down "
                                      "to the cold tier, and say which one limits the run first.");
  HeadspaceArguments& arguments = command.run(headspace);
  command.config(arguments);
  command.argument("--epochs", arguments.epochs, "Number of measured epochs at each level.")
      .range(1, 1000);
  command.argument("--steps", arguments.steps, "Number of steps in each measurement of the device.")
      .range(1, 1000000);
}

const RegisteredCommand train_command("bench train", add_bench_train);
const RegisteredCommand headspace_command("headspace", add_headspace);

}  // namespace
}  // namespace stoker
