#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/data/pack.h"
#include "app/experiment/options.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  std::string to;
  std::string tier;
  std::string shard_size = "256MiB";
  bool json = false;
};

// The tier that is written: a directory, or one of the experiment's.
struct Target {
  std::unique_ptr<Storage> directory;
  Storage* tier = nullptr;
  std::string folder;
};

Target find_target(const Arguments& arguments, const Tiers& tiers) {
  Target target;
  if (!arguments.tier.empty()) {
    target.tier = &tiers.at(arguments.tier);
    target.folder = arguments.to;
    return target;
  }
  if (arguments.to.empty()) {
    throw Error(ExitCode::config, "dataset pack: name a directory by --to, or a tier by --tier");
  }
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text("posix")});
  node.entries.push_back({"root", {}, Node::text(arguments.to)});
  target.directory =
      Registry<Storage>::global().parse(Section(node, "", "storage", nullptr)).create({});
  target.tier = target.directory.get();
  return target;
}

// How an experiment reads what was written.
std::string usage(const Arguments& arguments, const SampleSpec& spec) {
  const std::string tier =
      arguments.tier.empty()
          ? fmt::format("storage: {{packed: {{type: posix, root: {}}}}}\n", arguments.to)
          : "";
  const std::string folder =
      arguments.tier.empty() || arguments.to.empty() ? "" : ", folder: " + arguments.to;
  return fmt::format(
      "{}dataset: {{type: packed, storage: {}{}}}\n"
      "decoder: {{type: raw, height: {}, width: {}, size: {}}}\n",
      tier, arguments.tier.empty() ? "packed" : arguments.tier, folder, spec.height, spec.width,
      spec.width);
}

void run(const Arguments& arguments) {
  const uint64_t shard_bytes = parse_bytes("--shard-size", arguments.shard_size);
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  const Notify notify = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  Tiers tiers;
  for (const auto& [name, tier] : options.storage) tiers.add(name, tier.create({name, notify}));
  const Target target = find_target(arguments, tiers);
  const auto dataset = options.dataset.create({tiers, options.run.seed, notify});
  const auto decoder = options.decoder.create({});
  PackOptions pack;
  pack.folder = target.folder;
  pack.shard_bytes = shard_bytes;
  pack.threads = Workers{}.resolve();
  pack.source = fmt::format("dataset: {}decoder: {}seed: {}\n", to_yaml(options.dataset.dump()),
                            to_yaml(options.decoder.dump()), options.run.seed);
  const bool live = isatty(STDERR_FILENO) == 1;
  const PackResult result =
      pack_dataset(*dataset, *decoder, *target.tier, pack, [live](int64_t done, int64_t total) {
        if (!live) return;
        fmt::print(stderr, "\r\x1b[Kpacked {} of {} samples{}", done, total,
                   done == total ? "\n" : "");
      });
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"samples", result.samples},
                                      {"left_out", result.left_out},
                                      {"shards", result.shards},
                                      {"bytes", result.bytes}}
                           .dump());
    return;
  }
  fmt::print("{} samples, {} bad ones left out, {} shards, {} bytes. To train on them:\n\n{}",
             result.samples, result.left_out, result.shards, result.bytes,
             usage(arguments, decoder->spec()));
}

}  // namespace

void add_dataset_pack(CLI::App& dataset, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = dataset.add_subcommand(
      "pack", "Decode a data set once, and write its pixels into a few large files");
  add_config_arguments(*command, *arguments);
  command->add_option("--to", arguments->to, "directory; with --tier, a folder of that tier");
  command->add_option("--tier", arguments->tier, "a tier of the experiment to write to");
  command->add_option("--shard-size", arguments->shard_size, "bytes of one file, at most")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] {
    run(*arguments);
    result = ExitCode::ok;
  });
}

}  // namespace stoker
