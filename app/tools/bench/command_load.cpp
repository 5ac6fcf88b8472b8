#include "app/tools/bench/commands.h"
#include "app/tools/bench/load.h"

namespace stoker {

void add_bench_load(const Command& bench) {
  const Command command = bench.add("load",
                                    "Measure how fast safetensors files, or a set of checkpoints "
                                    "with its checksums, are read into memory, beside the same "
                                    "reads alone.");
  LoadBenchArguments& arguments = command.run(bench_load);
  command
      .argument("FILE", arguments.files,
                "Safetensors files, or the directory of one set. With --tier, their keys there.")
      .required();
  const Argument config =
      command.argument("--config", arguments.config, "The experiment of --tier, a YAML file.");
  const Argument tier = command.argument("--tier", arguments.tier,
                                         "The tier's name under storage: in the experiment.");
  tier.needs(config);
  config.needs(tier);
  command
      .argument(
          "--access", arguments.access,
          "auto: past the page cache, but for files of which it holds more than half. direct: "
          "past it. buffered: through it. A set is read past it.")
      .one_of({"auto", "direct", "buffered"});
  command.argument("--threads", arguments.threads, "Number of threads that read.").range(1, 1024);
  command.argument("--rounds", arguments.rounds, "Number of rounds.").range(1, 1000000);
  command.flag("--cold", arguments.cold,
               "Evict the files from the page cache before each reading. Readings that did not "
               "begin cold are left out.");
  command.flag("--json", arguments.json, "Print one line of JSON.");
}

}  // namespace stoker
