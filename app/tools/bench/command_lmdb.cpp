#include "app/tools/bench/benchmarks.h"
#include "app/tools/bench/commands.h"

namespace stoker {

void add_bench_lmdb(const Command& bench) {
  const Command command = bench.add(
      "lmdb",
      "Run the configured training with each reader of the loader lmdbio on several numbers of "
      "ranks, and print run times, context switches, page faults and where a rank's time goes.");
  LmdbBenchArguments& arguments = command.run(bench_lmdb);
  command.config(arguments);
  command
      .argument("--ranks", arguments.ranks,
                "Numbers of ranks, e.g. 1,2,4,8. Each rank is a process.")
      .range(1, 1024);
  command.argument("--readers", arguments.readers, "Values of loader.reader, e.g. lmdb,lmm.");
  command
      .argument("--rounds", arguments.rounds,
                "Number of rounds. Each reader has its turn in every round.")
      .range(1, 1000000);
  command.argument("--steps", arguments.steps, "Number of steps in each run; 0 means one epoch.")
      .range(0, 1 << 30);
  command
      .argument("--page-cache", arguments.page_cache,
                "cold: the data set's files are evicted from the page cache before each run. "
                "as_is: the page cache is left as it is.")
      .one_of({"cold", "as_is"});
  command.flag("--drop-caches", arguments.drop_caches,
               "Empty the whole page cache of the machine before each run. This needs root.");
}

}  // namespace stoker
