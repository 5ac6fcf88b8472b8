#include "app/base/command_line.h"
#include "app/tools/bench/benchmarks.h"
#include "app/tools/bench/read.h"

namespace stoker {
namespace {

void add_read(const Command& bench) {
  const Command command = bench.add("read",
                                    "Measure how fast the training samples are read, in images/s "
                                    "and MB/s, by number of threads.");
  ReadBenchArguments& arguments = command.run(bench_read);
  ReadBenchOptions& options = arguments.options;
  command.config(arguments);
  command
      .argument("--stages", arguments.stages,
                "How far each sample goes. read: its bytes are read. decode: its JPEG is also "
                "decoded at full size. resize: the whole decoder works on it.")
      .one_of({"read", "decode", "resize"});
  command
      .argument(
          "--threads", options.threads,
          "Numbers of threads to measure, e.g. 1,2,4,8. Each thread has one sample in flight.")
      .range(1, 1024);
  command.flag("--pipeline", arguments.pipeline,
               "Read through the loader `threaded`, with --threads workers and as many samples "
               "ahead, as TensorFlow's map(). Without it, plain threads read.");
  command.flag("--loader", arguments.loader,
               "Read through the experiment's own loader, with --threads workers, in its own order "
               "and with its own reading ahead.");
  command.argument("--batch", options.batch, "Number of samples in a batch.").range(1, 1 << 20);
  command
      .argument("--batches", options.batches, "Number of batches in each pass; 0 means one epoch.")
      .range(0, 1 << 30);
  command
      .argument("--repetitions", options.repetitions,
                "Number of passes. The first one does not count.")
      .range(2, 1000000);
  command
      .argument("--page-cache", arguments.page_cache,
                "cold: the samples' files are evicted from the page cache before each pass, and "
                "the result is verified. as_is: the page cache is left as it is.")
      .one_of({"cold", "as_is"});
}

void add_loader(const Command& bench) {
  const Command command = bench.add(
      "loader",
      "Measure the configured loader without a model, in images/s, beside what libjpeg-turbo alone "
      "does with the same files.");
  LoaderBenchArguments& arguments = command.run(bench_loader);
  command.config(arguments);
  command
      .argument("--epochs", arguments.epochs,
                "Number of measured epochs, which follow one that warms up.")
      .range(1, 1000000);
  command
      .argument("--ceiling-samples", arguments.ceiling_samples,
                "Number of files that libjpeg-turbo decodes for comparison; 0 means all, or as "
                "many as fit in 256 MiB.")
      .not_negative();
  command
      .argument(
          "--scaling", arguments.scaling,
          "Measure the loader with each of these numbers of workers instead, in turn, e.g. 1,2,4.")
      .range(1, 1024);
  command.argument("--dump", arguments.dump,
                   "Write the pixels of the first batch to this NumPy file (.npy).");
  command.flag("--quick", arguments.quick,
               "Measure only the loader: do not compare it with libjpeg-turbo, and do not count "
               "allocations and copies.");
}

void add_decode(const Command& bench) {
  const Command command = bench.add("decode",
                                    "Measure the time that the configured decoder takes for an "
                                    "image, on one thread, with the files in memory.");
  DecodeBenchArguments& arguments = command.run(bench_decode);
  command.config(arguments);
  command.argument("--versus", arguments.versus,
                   "Other decoders, which are measured in the same rounds.");
  command.argument("--samples", arguments.samples, "Number of samples to decode; 0 means all.")
      .not_negative();
  command
      .argument("--rounds", arguments.rounds,
                "Number of rounds. Each decoder has its turn in every round.")
      .range(1, 1000000);
}

void add_lmdb(const Command& bench) {
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

void add_bench(const Command& program) {
  const Command bench = program.add_group("bench", "Measure parts of the pipeline by themselves.");
  for (const auto add :
       {add_read, add_loader, add_decode, add_bench_storage, add_bench_load, add_lmdb}) {
    add(bench);
  }
}

const RegisteredCommand bench_command("bench", add_bench);

}  // namespace
}  // namespace stoker
