#include "app/base/tool_command.h"
#include "app/tools/bench/commands.h"
#include "app/tools/bench/decode.h"
#include "app/tools/bench/headspace.h"
#include "app/tools/bench/lmdb_bench.h"
#include "app/tools/bench/loader_bench.h"
#include "app/tools/bench/read.h"
#include "app/tools/bench/train.h"

namespace stoker {
namespace {

void add_read(const Command& bench) {
  const Command command =
      bench.add("read", "Images/s and MB/s of reading the training samples, by number of threads");
  ReadBenchArguments& arguments = command.run(bench_read);
  ReadBenchOptions& options = arguments.options;
  command.config(arguments);
  command.argument("--stages", arguments.stages, "read; read and decode; or all of the decoder")
      .one_of({"read", "decode", "resize"});
  command.argument("--threads", options.threads, "samples in flight, e.g. 1,2,4,8").range(1, 1024);
  command.flag("--pipeline", arguments.pipeline,
               "by the loader `threaded` with so many workers, in order and in batches; else by "
               "threads that do nothing else");
  command.flag("--loader", arguments.loader,
               "by the experiment's own loader with so many workers, in its order and with what it "
               "reads ahead");
  command.argument("--batch", options.batch, "samples per batch").range(1, 1 << 20);
  command.argument("--batches", options.batches, "batches per repetition; 0: one epoch")
      .range(0, 1 << 30);
  command.argument("--repetitions", options.repetitions, "passes; the first is dropped")
      .range(2, 1000000);
  command
      .argument("--page-cache", arguments.page_cache,
                "cold: emptied of the samples' files before each pass, and verified")
      .one_of({"cold", "as_is"});
}

void add_loader(const Command& bench) {
  const Command command = bench.add(
      "loader",
      "Images/s of the configured loader without a model (a warm-up epoch, then epochs), beside "
      "what libjpeg-turbo alone does with the same files");
  LoaderBenchArguments& arguments = command.run(bench_loader);
  command.config(arguments);
  command.argument("--epochs", arguments.epochs, "measured epochs").range(1, 1000000);
  command
      .argument("--ceiling-samples", arguments.ceiling_samples,
                "files that libjpeg-turbo decodes for comparison; 0: all, or as many as 256 MiB "
                "hold")
      .not_negative();
  command
      .argument("--scaling", arguments.scaling,
                "instead: one row per number of workers (1,2,4), measured in turn")
      .range(1, 1024);
  command.argument("--dump", arguments.dump,
                   "write the pixels of the first epoch's first batch: a NumPy file (.npy)");
  command.flag("--quick", arguments.quick,
               "only the loader: no comparison, no counting of allocations and copies");
}

void add_decode(const Command& bench) {
  const Command command = bench.add(
      "decode", "Time per image of the configured decoder on one thread, files in memory");
  DecodeBenchArguments& arguments = command.run(bench_decode);
  command.config(arguments);
  command.argument("--versus", arguments.versus, "other decoders to time in the same rounds");
  command.argument("--samples", arguments.samples, "samples to decode; 0: all").not_negative();
  command.argument("--rounds", arguments.rounds, "interleaved rounds").range(1, 1000000);
}

void add_train_bench(const Command& bench) {
  const Command command = bench.add(
      "train",
      "Some steps of the configured training for each division of the cores between computing and "
      "loading; or the trainer beside a bare loop");
  TrainBenchArguments& arguments = command.run(bench_train);
  command.config(arguments);
  command
      .argument(
          "--threads", arguments.threads,
          "values of training.threads: 1,2,4; default: powers of two up to the cores there are")
      .range(1, 1024);
  command.argument("--workers", arguments.workers, "values of loader.workers, likewise")
      .range(1, 1024);
  command.argument("--steps", arguments.steps, "measured steps of a round").range(1, 1000000);
  command.argument("--warm-up", arguments.warm_up, "steps before them").range(0, 1000000);
  command.argument("--rounds", arguments.rounds, "interleaved rounds").range(1, 1000000);
  const Argument bare = command.flag(
      "--bare", arguments.bare,
      "the trainer beside the same steps without it, on one batch that lies on the device");
  command
      .argument("--at-most", arguments.at_most,
                "percent of overhead (medians) above which the exit code is 7")
      .positive()
      .needs(bare);
}

void add_lmdb_bench(const Command& bench) {
  const Command command = bench.add(
      "lmdb",
      "The configured training by each reader of the loader lmdbio on 1, 2, 4, 8 ranks: run time, "
      "context switches, page faults and where a rank's time goes");
  LmdbBenchArguments& arguments = command.run(bench_lmdb);
  command.config(arguments);
  command.argument("--ranks", arguments.ranks, "numbers of processes, e.g. 1,2,4,8").range(1, 1024);
  command.argument("--readers", arguments.readers, "values of loader.reader, e.g. lmdb,lmm");
  command.argument("--rounds", arguments.rounds, "interleaved rounds").range(1, 1000000);
  command.argument("--steps", arguments.steps, "of each run; 0: one epoch").range(0, 1 << 30);
  command
      .argument("--page-cache", arguments.page_cache,
                "cold: emptied of the data set's files before each run; as_is: as it is")
      .one_of({"cold", "as_is"});
  command.flag("--drop-caches", arguments.drop_caches,
               "before each run all of the machine's page cache goes (as root)");
}

void add_bench(const Command& program) {
  const Command bench = program.add_group("bench", "Measure parts of the pipeline by themselves");
  for (const auto add : {add_read, add_loader, add_decode, add_bench_checkpoint, add_bench_storage,
                         add_train_bench, add_lmdb_bench}) {
    add(bench);
  }
}

void add_headspace(const Command& program) {
  const Command command = program.add(
      "headspace",
      "Rates from the device alone down to the cold tier, and which of them binds first");
  HeadspaceArguments& arguments = command.run(headspace);
  command.config(arguments);
  command.argument("--epochs", arguments.epochs, "measured epochs of each level").range(1, 1000);
  command.argument("--steps", arguments.steps, "steps in each measurement of the device")
      .range(1, 1000000);
}

const ToolCommand bench_command("bench", add_bench);
const ToolCommand headspace_command("headspace", add_headspace);

}  // namespace
}  // namespace stoker
