
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/process/stop_signal.h"
#include "app/tools/data/convert/convert.h"
#include "app/tools/data/fetch.h"
#include "io/core/error.h"
#include "io/core/system/usable_cores.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/experiment/experiment_data.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

Node mapping(const std::vector<std::pair<std::string, std::string>>& entries) {
  Node node = Node::map();
  for (const auto& [key, value] : entries) node.entries.push_back({key, {}, Node::text(value)});
  return node;
}

Node within(const std::string& key, Node value) {
  Node node = Node::map();
  node.entries.push_back({key, {}, std::move(value)});
  return node;
}

// What would be found in `outer` again.
bool lies_in(const std::string& inner, const std::string& outer) {
  const fs::path relative =
      fs::weakly_canonical(inner).lexically_relative(fs::weakly_canonical(outer));
  return !relative.empty() && *relative.begin() != "..";
}

// An experiment's file, or one for a directory of class folders.
DataOptions read_source(const ConvertArguments& arguments) {
  if (!fs::is_directory(arguments.config))
    return read_data_options(arguments.config, arguments.overrides, print_note);
  if (arguments.tier.empty() && lies_in(arguments.to, arguments.config)) {
    throw Error(ExitCode::config, "dataset convert: " + readable(arguments.to) + " lies in " +
                                      readable(arguments.config) +
                                      ", whose folders are its classes: name another directory");
  }
  Node root = within(
      "storage", within("data", mapping({{"type", "posix"}, {"root", to_text(arguments.config)}})));
  root.entries.push_back({"dataset", {}, mapping({{"type", "image_folder"}, {"storage", "data"}})});
  for (const std::string& assignment : arguments.overrides) apply_override(root, assignment);
  return read_data_tree(root);
}

// The tier that is written, and read again to verify it: a directory, or one of the experiment's.
struct TargetTiers {
  Tiers directory;
  ConvertTarget target;

  TargetTiers(const ConvertArguments& arguments, const Tiers& tiers)
      : target(arguments.tier.empty()
                   ? ConvertTarget{directory, "converted"}
                   : ConvertTarget{tiers, arguments.tier,
                                   arguments.to == "." ? "" : to_text(arguments.to)}) {
    if (arguments.tier.empty()) directory.add("converted", open_directory(to_text(arguments.to)));
  }
};

// Leaves out on_error, so that a call with another policy for bad samples goes on with the same
// conversion.
std::string without_on_error(Node dataset) {
  std::erase_if(dataset.entries, [](const Node::Entry& entry) { return entry.key == "on_error"; });
  return to_yaml(dataset);
}

ConvertOptions convert_options(const ConvertArguments& arguments, const DataOptions& experiment) {
  ConvertOptions options;
  // Checked here and not by the command line's parser, which would report this also for a mistyped
  // option.
  if (arguments.format.empty()) {
    throw Error(ExitCode::config, "dataset convert: name the format to write by --format");
  }
  options.format = arguments.pixels ? parse_component<ShardFormatWriter>(
                                          mapping({{"type", arguments.format}, {"pixels", "true"}}))
                                    : default_component<ShardFormatWriter>(arguments.format);
  options.plan.shard_bytes = arguments.shard_size.bytes;
  if (arguments.shuffle) options.plan.shuffle = experiment.run.seed;
  // Waiting for reads, and for an fsync of each object, takes the time where nothing is decoded.
  options.threads = std::max<int64_t>(options.format.info().apart ? 16 : 4, usable_cores());
  const std::string decoder = to_yaml(experiment.decoder.dump());
  options.source = fmt::format("dataset: {}\ndecoder: {}\nseed: {}\n{}",
                               without_on_error(experiment.dataset.dump()), decoder,
                               experiment.run.seed, arguments.shuffle ? "shuffled: true\n" : "");
  options.pixels = options.source;
  options.verify = !arguments.no_verify;
  return options;
}

// How an experiment reads what was written.
Node usage(const ConvertArguments& arguments, const ConvertOptions& options,
           const ConvertResult& result, const SampleSpec& spec) {
  Node root = Node::map();
  if (arguments.tier.empty()) {
    root = within("storage", within("converted",
                                    mapping({{"type", "posix"}, {"root", to_text(arguments.to)}})));
  }
  root.entries.push_back({"dataset", {}, result.dataset});
  if (options.format.info().pixels) {
    root.entries.push_back({"decoder",
                            {},
                            mapping({{"type", "raw"},
                                     {"height", std::to_string(spec.height)},
                                     {"width", std::to_string(spec.width)},
                                     {"size", std::to_string(spec.width)}})});
  }
  return root;
}

// A line for each, as far as a person reads them; empty: there is none.
std::string left_out_text(const std::vector<LeftOutSample>& samples) {
  constexpr size_t kListed = 20;
  if (samples.empty()) return "";
  std::string text = "Left out:\n";
  for (const LeftOutSample& sample : std::span(samples).first(std::min(kListed, samples.size()))) {
    text += fmt::format("  {}: {}: {}\n", printable(sample.key), sample.reason,
                        printable(sample.message));
  }
  if (samples.size() > kListed) {
    text += fmt::format("  and {} more: --json lists them all\n", samples.size() - kListed);
  }
  return text + "\n";
}

ExitCode print_conversion(const ConvertArguments& arguments, const ConvertResult& result,
                          const Node& experiment) {
  nlohmann::json tolerated = nlohmann::json::array(), left_out = tolerated;
  for (const ToleratedSample& sample : result.tolerated)
    tolerated.push_back({{"key", sample.key}, {"message", sample.message}});
  for (const LeftOutSample& sample : result.left_out) {
    left_out.push_back(
        {{"key", sample.key}, {"reason", sample.reason}, {"message", sample.message}});
  }
  return print_result(
      arguments.json,
      {{"samples", result.samples},
       {"left_out", result.left_out.size()},
       {"left_out_samples", left_out},
       {"tolerated", tolerated},
       {"shards", result.shards},
       {"found", result.found},
       {"complete_before", result.complete_before},
       {"bytes", result.bytes},
       {"verified", result.complete_before || !arguments.no_verify},
       {"experiment", to_json(experiment)}},
      fmt::format("{}{}, {} of them damaged, {} left out, {}{}, {}{}. "
                  "{}To train on them:\n\n{}\n",
                  result.complete_before ? "complete already: " : "",
                  plural(result.samples, "sample"), result.tolerated.size(),
                  plural(result.left_out.size(), "bad one"), plural(result.shards, "shard"),
                  result.found > 0 ? fmt::format(" ({} were there)", result.found) : "",
                  plural(result.bytes, "byte"),
                  arguments.no_verify && !result.complete_before ? ", not verified" : ", verified",
                  left_out_text(result.left_out), to_yaml(experiment)));
}

}  // namespace

ExitCode convert_experiment(const ConvertArguments& arguments) {
  const DataOptions experiment = read_source(arguments);
  if (!arguments.tier.empty()) find_tier(experiment, arguments.tier);
  const ConvertOptions options = convert_options(arguments, experiment);
  const StopSignal stop;
  const ExperimentData data(experiment, print_note);
  const TargetTiers to(arguments, data.tiers());
  ConvertHooks hooks;
  hooks.progress = [](const std::string& what, int64_t done, int64_t total) {
    show_progress(what, static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  };
  hooks.stop = [&stop] { return stop.exit_code(); };
  hooks.note = print_note;
  const ConvertResult result =
      convert_dataset(data.dataset(), data.decoder(), to.target, options, hooks);
  return print_conversion(arguments, result,
                          usage(arguments, options, result, data.decoder().spec()));
}

}  // namespace stoker
