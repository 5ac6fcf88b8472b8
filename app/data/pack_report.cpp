#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/data/directory_tier.h"
#include "app/data/pack.h"
#include "app/experiment/data.h"

namespace stoker {
namespace {

// The tier that is written: a directory, or one of the experiment's.
struct Target {
  std::unique_ptr<Storage> directory;
  Storage* tier = nullptr;
  std::string folder;
};

Target find_target(const PackArguments& arguments, const Tiers& tiers) {
  Target target;
  if (!arguments.tier.empty()) {
    target.tier = &tiers.at(arguments.tier);
    target.folder = arguments.to;
    return target;
  }
  if (arguments.to.empty()) {
    throw Error(ExitCode::config, "dataset pack: name a directory by --to, or a tier by --tier");
  }
  target.directory = open_directory(arguments.to);
  target.tier = target.directory.get();
  return target;
}

// How an experiment reads what was written.
std::string usage(const PackArguments& arguments, const SampleSpec& spec) {
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

}  // namespace

ExitCode pack_experiment(const PackArguments& arguments) {
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  const ExperimentData data(options, print_remark);
  const Target target = find_target(arguments, data.tiers());
  PackOptions pack;
  pack.folder = target.folder;
  pack.shard_bytes = arguments.shard_size.bytes;
  pack.threads = Workers{}.resolve();
  pack.source = fmt::format("dataset: {}decoder: {}seed: {}\n", to_yaml(options.dataset.dump()),
                            to_yaml(options.decoder.dump()), options.run.seed);
  const PackResult result = pack_dataset(
      data.dataset(), data.decoder(), *target.tier, pack, [](int64_t done, int64_t total) {
        show_progress("samples", static_cast<uint64_t>(done), static_cast<uint64_t>(total));
      });
  if (arguments.json) {
    const nlohmann::json json = {{"samples", result.samples},
                                 {"left_out", result.left_out},
                                 {"shards", result.shards},
                                 {"bytes", result.bytes}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} samples, {} bad ones left out, {} shards, {} bytes. To train on them:\n\n{}",
               result.samples, result.left_out, result.shards, result.bytes,
               usage(arguments, data.decoder().spec()));
  }
  return ExitCode::ok;
}

}  // namespace stoker
