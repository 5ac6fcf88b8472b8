#include "app/tools/bench/benchmarks.h"
#include "app/tools/bench/storage/storage.h"

namespace stoker {
namespace {

void add_workload(const Command& command, StorageBenchArguments& arguments) {
  StorageWorkload& workload = arguments.workload;
  command.argument("--block-size", arguments.block_size, "Bytes that each thread reads or writes.");
  command.argument("--transfer-size", arguments.transfer_size, "Bytes of one read or write.");
  command.argument("--threads", arguments.threads, "Numbers of threads to measure, e.g. 1,2,4,8.")
      .range(1, 1024);
  command
      .argument("--pattern", arguments.pattern,
                "sequential: offsets rise. random: every offset comes once, in a shuffled order.")
      .one_of({"sequential", "random"});
  command.argument("--op", arguments.op, "Operations to measure.")
      .one_of({"read", "write", "both"});
  command.flag("--fsync", workload.sync, "Sync files before they are closed.");
  const Argument own = command.flag("--file-per-thread", arguments.file_per_thread,
                                    "Give each thread a file of its own. This is the default.");
  command.flag("--shared", workload.shared, "Give each thread a segment of one shared file.")
      .excludes(own);
  command.flag(
      "--objects", workload.objects,
      "Open and close the object for each read, as a loader does. Without it, files stay open.");
  command.flag("--cold", workload.cold,
               "Evict the files from the page cache before each round of reads. Rounds that did "
               "not begin cold are left out.");
  command
      .argument("--seconds", workload.limit_s,
                "End a round after this many seconds; 0 means when all bytes are done.")
      .not_negative();
}

}  // namespace

void add_bench_storage(const Command& bench) {
  const Command command = bench.add("storage",
                                    "Measure bandwidth, IOPS and latency of one tier by number of "
                                    "threads, as IOR measures them.");
  StorageBenchArguments& arguments = command.run(bench_storage);
  command.argument("CONFIG", arguments.config, "The experiment, a YAML file.").required();
  command.argument("TIER", arguments.tier, "The tier's name under storage: in the experiment.")
      .required();
  command.overrides(arguments.overrides);
  add_workload(command, arguments);
  command.argument("--directory", arguments.directory,
                   "The folder of the tier in which the benchmark makes a folder of its own, which "
                   "it removes. Without it, that is the tier's root.");
  command
      .argument("--rounds", arguments.rounds,
                "Number of rounds, which follow one that does not count. Medians are shown.")
      .range(1, 1000000);
  command.flag("--fit", arguments.fit,
               "Measure what an emulated tier needs to behave like this one, and print its YAML. "
               "Reads begin cold; --pattern, --op and --fsync have no effect.");
  command.flag("--json", arguments.json, "Print one line of JSON.");
}

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
