#include "app/tools/bench/storage.h"
#include "app/tools/bench/commands.h"

namespace stoker {
namespace {

void add_workload(const Command& command, StorageBenchArguments& arguments) {
  StorageWorkload& workload = arguments.workload;
  command.argument("--block-size", arguments.block_size, "bytes of each thread");
  command.argument("--transfer-size", arguments.transfer_size, "bytes of one read or write");
  command.argument("--threads", arguments.threads, "numbers of threads to measure").range(1, 1024);
  command.argument("--pattern", arguments.pattern, "random: every offset once, shuffled")
      .one_of({"sequential", "random"});
  command.argument("--op", arguments.op, "operations to measure").one_of({"read", "write", "both"});
  command.flag("--fsync", workload.sync, "sync files before they are closed");
  const Argument own = command.flag("--file-per-thread", arguments.file_per_thread,
                                    "a file for each thread: the default");
  command.flag("--shared", workload.shared, "one file, a segment for each thread").excludes(own);
  command.flag("--objects", workload.objects,
               "each read opens and closes, as a loader's does; else files stay open");
  command.flag("--cold", workload.cold,
               "evict the files before each round of reads; rounds that did not begin cold are "
               "left out");
  command.argument("--seconds", workload.limit_s, "end a round after so long; 0: when all is done")
      .not_negative();
}

}  // namespace

void add_bench_storage(const Command& bench) {
  const Command command = bench.add(
      "storage", "Bandwidth, IOPS and latency of one tier over threads, as IOR measures them");
  StorageBenchArguments& arguments = command.run(bench_storage);
  command.argument("CONFIG", arguments.config, "experiment, a YAML file").required();
  command.argument("TIER", arguments.tier, "its name under storage:").required();
  command.overrides(arguments.overrides);
  add_workload(command, arguments);
  command
      .argument("--rounds", arguments.rounds,
                "repetitions, after one that does not count; medians are shown")
      .range(1, 1000000);
  command.flag("--fit", arguments.fit,
               "measure what an emulated tier needs to behave like this one, and print its YAML; "
               "reads begin cold; --pattern, --op and --fsync do not matter");
  command.flag("--json", arguments.json, "print one line of JSON");
}

}  // namespace stoker
