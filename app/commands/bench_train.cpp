#include "app/bench/train.h"
#include "app/commands/commands.h"

namespace stoker {

void add_bench_train(const Command& bench) {
  const auto arguments = std::make_shared<TrainBenchArguments>();
  const Command command = bench.add(
      "train",
      "Some steps of the configured training for each division of the cores between computing and "
      "loading; or the trainer beside a bare loop");
  command.config(*arguments);
  command
      .argument(
          "--threads", arguments->threads,
          "values of training.threads: 1,2,4; default: powers of two up to the cores there are")
      .range(1, 1024);
  command.argument("--workers", arguments->workers, "values of loader.workers, likewise")
      .range(1, 1024);
  command.argument("--steps", arguments->steps, "measured steps of a round").range(1, 1000000);
  command.argument("--warm-up", arguments->warm_up, "steps before them").range(0, 1000000);
  command.argument("--rounds", arguments->rounds, "interleaved rounds").range(1, 1000000);
  const Argument bare = command.flag(
      "--bare", arguments->bare,
      "the trainer beside the same steps without it, on one batch that lies on the device");
  command
      .argument("--at-most", arguments->at_most,
                "percent of overhead (medians) above which the exit code is 7")
      .positive()
      .needs(bare);
  command.flag("--json", arguments->json, "print one line of JSON");
  command.run([=] { return bench_train(*arguments); });
}

}  // namespace stoker
