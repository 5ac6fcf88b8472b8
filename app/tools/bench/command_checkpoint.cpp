#include "app/tools/bench/checkpoint/checkpoint.h"
#include "app/tools/bench/commands.h"

namespace stoker {

void add_bench_checkpoint(const Command& bench) {
  const Command command = bench.add("checkpoint",
                                    "Measure saving and loading the state of the model and its "
                                    "optimizer on the experiment's tiers.");
  CheckpointBenchArguments& arguments = command.run(bench_checkpoint);
  command.config(arguments);
  command.argument("--rounds", arguments.rounds, "Number of saves and loads.").range(1, 1000000);
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
}

}  // namespace stoker
