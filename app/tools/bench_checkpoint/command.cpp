#include "app/base/command_line.h"
#include "app/tools/bench_checkpoint/bench_checkpoint.h"

namespace stoker {
namespace {

// What a loop of steps needs beside the rest.
Argument add_loop(const Command& command, CheckpointBenchArguments& arguments) {
  const Argument loop = command.flag("--loop", arguments.loop,
                                     "Measure what --rounds saves cost a loop of steps instead, "
                                     "each with an update, beside plain copies of as many bytes.");
  command
      .argument("--step-ms", arguments.step_ms,
                "Milliseconds of a step, in which the processor has nothing to do.")
      .not_negative()
      .needs(loop);
  command.argument("--every", arguments.every, "Number of steps from one save to the next.")
      .range(1, 1000000)
      .needs(loop);
  command
      .flag("--loader", arguments.loader,
            "Let the experiment's loader run beside the loop, as fast as it can.")
      .needs(loop);
  return loop;
}

// What a shape needs.
void add_shape(const Command& command, CheckpointBenchArguments& arguments, const Argument& loop) {
  Argument shape = command.argument(
      "--shape", arguments.shape,
      "Measure the state of such a model instead, as MLPerf Storage divides it among ranks: "
      "llama3-8b, llama3-70b, llama3-405b or llama3-1t.");
  shape.excludes(loop);
  command
      .argument("--ranks", arguments.ranks,
                "Number of ranks that save together; 0: as MLPerf has them (8, 64, 512, 1024).")
      .range(0, 65'536)
      .needs(shape);
  command.argument("--rank", arguments.rank, "The ranks that run here, at once, e.g. 0,1,2,3.")
      .range(0, 65'535)
      .needs(shape);
  command
      .argument("--parallel", arguments.parallel,
                "Sizes of tensor, pipeline and data parallelism, e.g. tp=8,pp=4,dp=2. The default "
                "is MLPerf's.")
      .needs(shape);
  command
      .argument("--optimizer", arguments.optimizer,
                "Whose state is saved beside the weights, in F32. adamw: three times the "
                "parameters. sgd: twice. none: nothing.")
      .one_of({"adamw", "sgd", "none"})
      .needs(shape);
  command
      .argument("--scale", arguments.scale,
                "The share of its elements that each tensor has, for a machine that is smaller.")
      .between(1e-6, 1)
      .needs(shape);
  command
      .flag("--in-turns", arguments.in_turns,
            "Load and remove each checkpoint right after its save, so that the tier holds one.")
      .needs(shape);
  command
      .flag("--closed", arguments.closed,
            "Refuse what the CLOSED division of MLPerf Storage does not allow.")
      .needs(shape);
}

void add_bench_checkpoint(const Command& bench) {
  const Command command = bench.add("checkpoint",
                                    "Measure saving and loading the state of the model and its "
                                    "optimizer on the experiment's tiers.");
  CheckpointBenchArguments& arguments = command.run(bench_checkpoint);
  command
      .argument("CONFIG", arguments.config,
                "The experiment, a YAML file. With --shape also a folder to write to.")
      .required();
  command.overrides(arguments.overrides);
  command.flag("--json", arguments.json, "Print the result as JSON.");
  command.argument("--rounds", arguments.rounds, "Number of saves and loads.").range(1, 1000000);
  const Argument loop = add_loop(command, arguments);
  add_shape(command, arguments, loop);
}

const RegisteredCommand checkpoint_command("bench checkpoint", add_bench_checkpoint);

}  // namespace
}  // namespace stoker
