#include "app/tools/bench/checkpoint/checkpoint.h"
#include "app/tools/bench/commands.h"

namespace stoker {

void add_bench_checkpoint(const Command& bench) {
  const Command command = bench.add(
      "checkpoint", "Save and load the state of the model and its optimizer, on its own tiers");
  CheckpointBenchArguments& arguments = command.run(bench_checkpoint);
  command.config(arguments);
  command.argument("--rounds", arguments.rounds, "saves and loads").range(1, 1000000);
  const Argument loop = command.flag("--loop", arguments.loop,
                                     "instead: what a save costs a loop of steps, each with an "
                                     "update; distributions over --rounds "
                                     "saves, beside a plain copy of as many bytes");
  command
      .argument("--step-ms", arguments.step_ms, "a step, in which the processor has nothing to do")
      .not_negative()
      .needs(loop);
  command.argument("--every", arguments.every, "steps for each save").range(1, 1000000).needs(loop);
  command
      .flag("--loader", arguments.loader, "the experiment's loader runs beside, as fast as it can")
      .needs(loop);
}

}  // namespace stoker
