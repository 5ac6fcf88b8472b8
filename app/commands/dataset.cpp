#include "app/commands/commands.h"
#include "app/data/fetch.h"
#include "app/data/inspect.h"
#include "app/data/pack.h"
#include "app/data/stage.h"
#include "app/data/synth.h"
#include "io/dataset/fetch.h"

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
  const Command command = dataset.add("synth", "Write a folder of generated JPEG files");
  SynthOptions& options = command.run(synth);
  command.argument("DIRECTORY", options.directory, "must not exist or be empty").required();
  command.argument("--samples", options.files, "number of files").positive();
  command.argument("--classes", options.classes, "number of folders").positive();
  command.argument("--median-bytes", options.image.median_bytes, "median file size, log-normal");
  command
      .argument("--sigma", options.image.sigma,
                "standard deviation of the logarithm of the file size")
      .between(0, 4);
  command.argument("--seed", options.seed, "seed of sizes and pixels");
  command.flag("--json", options.json, "print one line of JSON");
}

void add_pack(const Command& dataset) {
  const Command command =
      dataset.add("pack", "Decode a data set once, and write its pixels into a few large files");
  PackArguments& arguments = command.run(pack_experiment);
  command.config(arguments);
  command.argument("--to", arguments.to, "directory; with --tier, a folder of that tier");
  command.argument("--tier", arguments.tier, "a tier of the experiment to write to");
  command.argument("--shard-size", arguments.shard_size, "bytes of one file, at most");
  command.flag(
      "--shuffle", arguments.shuffle,
      "training samples in an order drawn by run.seed: each file has samples of all classes");
}

void add_stage(const Command& dataset) {
  const Command command = dataset.add(
      "stage", "Copy to the fast part of a cached tier what its rule chooses, ahead of a run");
  StageArguments& arguments = command.run(stage_experiment);
  command.config(arguments);
  command.flag("--dry-run", arguments.dry_run, "print what would be copied");
}

}  // namespace

void add_dataset(const Command& program) {
  const Command dataset = program.add_group("dataset", "Obtain, inspect and make data sets");
  for (const auto add : {add_fetch, add_inspect, add_synth, add_pack, add_stage}) add(dataset);
}

}  // namespace stoker
