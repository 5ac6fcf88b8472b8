#include "app/base/tool_command.h"
#include "app/tools/data/convert/convert_experiment.h"
#include "app/tools/data/fetch.h"
#include "app/tools/data/inspect.h"
#include "app/tools/data/stage.h"
#include "app/tools/data/synth.h"
#include "io/dataset/fetch.h"
#include "io/dataset/shards/shard_writer.h"

namespace stoker {
namespace {

void add_fetch(const Command& dataset) {
  const Command command = dataset.add("fetch", "Obtain a public data set where it is absent");
  FetchArguments& arguments = command.run(fetch_dataset);
  command.argument("NAME", arguments.name, "the data set").required().one_of(recipe_names());
  command.argument("--to", arguments.to, "directory for its files; default data/NAME");
  command.argument("--archive", arguments.archive, "an archive that is already there");
  command.argument("--url", arguments.url, "where to download from instead");
  command.flag("--json", arguments.json, "print one line of JSON");
}

void add_inspect(const Command& dataset) {
  const Command command = dataset.add(
      "inspect", "Counts, sizes, kinds and unreadable files of an experiment's data set");
  ConfigArguments& arguments = command.run(inspect_experiment);
  command.config(arguments);
}

void add_synth(const Command& dataset) {
  const Command command =
      dataset.add("synth", "Write a folder of generated files, or a generated database");
  SynthOptions& options = command.run(synth);
  command.argument("DIRECTORY", options.directory, "must not exist or be empty").required();
  command.argument("--samples", options.files, "number of files or records").positive();
  command.argument("--classes", options.classes, "number of classes").positive();
  command
      .argument(
          "--kind", options.kind,
          "jpeg: images; bytes: what looks like byte code; datum: an LMDB database of pixels, as "
          "Caffe's tools make it; hep, climate: HDF5 files as of HEPCNNB, of the Climate Data "
          "Benchmark")
      .one_of({"jpeg", "bytes", "datum", "hep", "climate"});
  command
      .argument("--size", options.size,
                "side of an image in pixels. datum: default 32, as CIFAR10; 256: as ImageNet. hep: "
                "default 224. climate: rows, default 768, and half as many columns more")
      .range(8, 4096);
  command.argument("--per-file", options.per_file, "hep: samples in a file").positive();
  command.argument("--test-files", options.test_files, "hep: files to test on, beside --samples")
      .range(0, 1 << 20);
  command.argument("--per-test-file", options.per_test_file, "hep: samples in one of those")
      .positive();
  command.argument("--median-bytes", options.image.median_bytes, "median file size, log-normal");
  command
      .argument("--sigma", options.image.sigma,
                "standard deviation of the logarithm of the file size")
      .between(0, 4);
  command.argument("--seed", options.seed, "seed of sizes and pixels");
  command.flag("--json", options.json, "print one line of JSON");
}

void add_convert(const Command& dataset) {
  const Command command = dataset.add(
      "convert", "Write a data set in another format; the same command goes on after a failure");
  ConvertArguments& arguments = command.run(convert_experiment);
  std::string formats;
  for (const std::string& name : Registry<ShardFormatWriter>::global().names())
    formats += (formats.empty() ? "" : ", ") + name;
  command
      .argument("SRC", arguments.config,
                "experiment, a YAML file; or a directory with a folder "
                "of images for each class")
      .required();
  command.argument("DST", arguments.to, "a new directory; with --tier, a folder of that tier")
      .required();
  command.overrides(arguments.overrides, "experiment");
  command.argument("--format", arguments.format, "required; format to write: " + formats);
  command.argument("--tier", arguments.tier, "a tier of the experiment to write to");
  command.argument("--shard-size", arguments.shard_size, "bytes of one shard, at most");
  command.flag("--pixels", arguments.pixels,
               "lmdb: values are pixels as the decoder makes them (decoder.size=224), all of one "
               "size, and no image files");
  command.flag(
      "--shuffle", arguments.shuffle,
      "training samples in an order drawn by run.seed: each shard has samples of all classes");
  command.flag("--no-verify", arguments.no_verify, "do not read again what was written");
  command.flag("--json", arguments.json, "print one line of JSON");
}

void add_stage(const Command& dataset) {
  const Command command = dataset.add(
      "stage", "Copy to the fast part of a cached tier what its rule chooses, ahead of a run");
  StageArguments& arguments = command.run(stage_experiment);
  command.config(arguments);
  command.flag("--dry-run", arguments.dry_run, "print what would be copied");
}

void add_dataset(const Command& program) {
  const Command dataset = program.add_group("dataset", "Obtain, inspect and make data sets");
  for (const auto add : {add_fetch, add_inspect, add_synth, add_convert, add_stage}) add(dataset);
}

const ToolCommand dataset_command("dataset", add_dataset);

}  // namespace
}  // namespace stoker
