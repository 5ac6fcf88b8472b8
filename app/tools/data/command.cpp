#include "app/base/command_line.h"
#include "app/tools/data/convert/convert.h"
#include "app/tools/data/fetch.h"
#include "app/tools/data/inspect.h"
#include "app/tools/data/synth.h"
#include "io/dataset/fetch.h"
#include "io/dataset/shards/shard_writer.h"

namespace stoker {
namespace {

void add_fetch(const Command& dataset) {
  const Command command =
      dataset.add("fetch", "Download a public data set, unless it is already there.");
  FetchArguments& arguments = command.run(fetch_dataset);
  command.argument("NAME", arguments.name, "The data set.").required().one_of(recipe_names());
  command.argument("--to", arguments.to, "Directory for its files. The default is data/NAME.");
  command.argument(
      "--archive", arguments.archive,
      "Unpack this archive, which is already on the machine, instead of downloading it.");
  command.argument("--url", arguments.url, "Download from this URL instead of the usual one.");
  command.flag("--json", arguments.json, "Print the result as one line of JSON.");
}

void add_inspect(const Command& dataset) {
  const Command command = dataset.add("inspect",
                                      "Print the counts, sizes and kinds of the samples in an "
                                      "experiment's data set, and which of them are bad ones: all "
                                      "are read and decoded, as for a training.");
  InspectArguments& arguments = command.run(inspect_experiment);
  command.config(arguments);
  command
      .argument("--samples", arguments.samples,
                "How many samples to read and decode, in even steps: a number or a share. What is "
                "counted without reading is counted of all.")
      .shown_as("N|N%");
}

void add_synth(const Command& dataset) {
  const Command command =
      dataset.add("synth", "Generate a data set: a folder of files, or a database.");
  SynthOptions& options = command.run(synth);
  command
      .argument("DIRECTORY", options.directory,
                "Directory to write to. It must be empty or not exist yet.")
      .required();
  command.argument("--samples", options.files, "Number of files or records.").positive();
  command.argument("--classes", options.classes, "Number of classes.").positive();
  command
      .argument("--kind", options.kind,
                "What is generated. jpeg: images. bytes: files that look like byte code. datum: an "
                "LMDB database of pixels, as Caffe's tools write it. hep, climate: HDF5 files such "
                "as those of HEPCNNB and of the Climate Data Benchmark.")
      .one_of({"jpeg", "bytes", "datum", "hep", "climate"});
  command
      .argument("--size", options.size,
                "Side of an image in pixels. Defaults: 32 for datum (as CIFAR10; 256 is as "
                "ImageNet), 224 for hep, and 768 for climate, whose images have this many rows and "
                "half as many columns more.")
      .range(8, 4096);
  command.argument("--per-file", options.per_file, "Samples in each file (only hep).").positive();
  command
      .argument("--test-files", options.test_files,
                "Number of files to test on, in addition to those of --samples (only hep).")
      .range(0, 1 << 20);
  command
      .argument("--per-test-file", options.per_test_file,
                "Samples in each file to test on (only hep).")
      .positive();
  command.argument("--median-bytes", options.image.median_bytes,
                   "Median size of a file. Sizes are log-normal.");
  command
      .argument(
          "--sigma", options.image.sigma,
          "Standard deviation of the logarithm of the file size. 0 makes all files equally large.")
      .between(0, 4);
  command.argument("--seed", options.seed, "Seed from which sizes and pixels are drawn.");
  command.flag("--json", options.json, "Print the result as one line of JSON.");
}

void add_convert(const Command& dataset) {
  const Command command = dataset.add("convert",
                                      "Write a data set in another format. After a failure, the "
                                      "same command goes on where it stopped.");
  ConvertArguments& arguments = command.run(convert_experiment);
  std::string formats;
  for (const std::string& name : Registry<ShardFormatWriter>::global().names())
    formats += (formats.empty() ? "" : ", ") + name;
  command
      .argument("SRC", arguments.config,
                "What to convert: an experiment (a YAML file), or a directory with a folder of "
                "images for each class.")
      .required();
  command
      .argument("DST", arguments.to,
                "A new directory to write to. With --tier it is a folder of that tier.")
      .required();
  command.overrides(arguments.overrides, "experiment");
  command.argument("--format", arguments.format,
                   "Format to write (required), one of: " + formats + ".");
  command.argument("--tier", arguments.tier, "Write to this tier of the experiment.");
  command.argument("--shard-size", arguments.shard_size, "Largest size of one shard in bytes.");
  command.flag("--pixels", arguments.pixels,
               "Store decoded pixels, all images of one size (decoder.size=224), instead of image "
               "files (only lmdb).");
  command.flag("--shuffle", arguments.shuffle,
               "Write the training samples in a random order drawn from run.seed, so that each "
               "shard has samples of all classes.");
  command.flag("--no-verify", arguments.no_verify, "Do not read and compare what was written.");
  command.flag("--json", arguments.json, "Print the result as one line of JSON.");
}

void add_stage(const Command& dataset) {
  const Command command = dataset.add("stage",
                                      "Copy the objects that the rule of a cached tier chooses to "
                                      "its fast tier, before a run begins.");
  StageArguments& arguments = command.run(stage_experiment);
  command.config(arguments);
  command.flag("--dry-run", arguments.dry_run, "Only print what would be copied.");
}

void add_dataset(const Command& program) {
  const Command dataset =
      program.add_group("dataset", "Download, inspect, generate, convert and stage data sets.");
  for (const auto add : {add_fetch, add_inspect, add_synth, add_convert, add_stage}) add(dataset);
}

const RegisteredCommand dataset_command("dataset", add_dataset);

}  // namespace
}  // namespace stoker
