#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/data/inspect.h"
#include "app/data/synth.h"
#include "app/experiment/options.h"
#include "io/dataset/fetch.h"

namespace stoker {
namespace {

// A line of progress on a terminal, nothing elsewhere.
void show_progress(const std::string& stage, uint64_t done, uint64_t total) {
  if (isatty(STDERR_FILENO) != 1) return;
  const std::string of =
      total > 0 ? fmt::format(" of {} ({:.0f} %)", total,
                              100.0 * static_cast<double>(done) / static_cast<double>(total))
                : "";
  fmt::print(stderr, "\r\x1b[K{} {}{}{}", stage, done, of, done == total ? "\n" : "");
}

void show_count(const std::string& stage, int64_t done, int64_t total) {
  show_progress(stage, static_cast<uint64_t>(done), static_cast<uint64_t>(total));
}

struct FetchArguments {
  std::string name;
  std::string to;
  std::string archive;
  std::string url;
  bool json = false;
};

void fetch_command(const FetchArguments& arguments) {
  const Recipe& recipe = find_recipe(arguments.name);
  const std::string root = arguments.to.empty() ? "data/" + recipe.name : arguments.to;
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text("posix")});
  node.entries.push_back({"root", {}, Node::text(root)});
  const auto tier =
      Registry<Storage>::global().parse(Section(node, "", "storage", nullptr)).create({});
  FetchOptions options;
  options.archive = arguments.archive;
  options.url = arguments.url;
  options.progress = [](const FetchProgress& p) { show_progress(p.stage, p.done, p.total); };
  options.notify = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  const FetchResult result = fetch(recipe, *tier, options);
  if (arguments.json) {
    const nlohmann::json json = {{"root", root},
                                 {"was_there", result.was_there},
                                 {"source", result.source},
                                 {"files", result.files},
                                 {"bytes", result.bytes}};
    fmt::print("{}\n", json.dump());
  } else if (result.was_there) {
    fmt::print("{} is there already\n", root);
  } else {
    fmt::print("{}: {} files, {} bytes from {}\n", root, result.files, result.bytes, result.source);
  }
}

void print_percentiles(const char* name, const Percentiles& p) {
  if (p.count == 0) return;
  fmt::print("  {:<14} min {:>8}  p1 {:>8}  p50 {:>8}  p90 {:>8}  p99 {:>8}  max {:>9}\n", name,
             p.min, p.p1, p.p50, p.p90, p.p99, p.max);
}

void print_report(const DatasetReport& report) {
  int64_t train = 0, test = 0;
  for (const ClassCount& row : report.classes) train += row.train, test += row.test;
  fmt::print("{} classes, {} training and {} test samples, {} bytes\n", report.classes.size(),
             train, test, report.bytes);
  print_percentiles("encoded bytes", report.encoded_bytes);
  print_percentiles("width", report.width);
  print_percentiles("height", report.height);
  print_percentiles("pixels", report.pixels);
  for (const auto& [kind, count] : report.kinds) fmt::print("  {:>8} {}\n", count, kind);
  for (const std::string& key : report.ignored) fmt::print("  ignored: {}\n", key);
  for (const UnreadableSample& sample : report.unreadable) {
    fmt::print("  unreadable: {}: {}: {}\n", sample.key, to_string(sample.reason), sample.message);
  }
}

struct InspectArguments : ConfigArguments {
  bool json = false;
};

void inspect_command(const InspectArguments& arguments) {
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  Tiers tiers;
  for (const auto& [name, tier] : options.storage) tiers.add(name, tier.create({name, {}}));
  const auto dataset = options.dataset.create(
      {tiers, options.run.seed, [](const std::string& text) { fmt::print(stderr, "{}\n", text); }});
  const DatasetReport report = inspect_dataset(
      *dataset, [](int64_t done, int64_t total) { show_count("samples", done, total); });
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json(report).dump(2));
  } else {
    print_report(report);
  }
}

struct SynthArguments {
  SynthOptions options;
  std::string median_bytes = "112k";
  bool json = false;
};

void synth_command(SynthArguments& arguments) {
  arguments.options.image.median_bytes =
      ByteSize{parse_bytes("--median-bytes", arguments.median_bytes)};
  const SynthResult result = synth_dataset(
      arguments.options, [](int64_t done, int64_t total) { show_count("files", done, total); });
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"directory", arguments.options.directory},
                                      {"files", result.files},
                                      {"bytes", result.bytes}}
                           .dump());
  } else {
    fmt::print("{}: {} files, {} bytes\n", arguments.options.directory, result.files, result.bytes);
  }
}

void add_fetch(CLI::App& dataset, ExitCode& result) {
  auto arguments = std::make_shared<FetchArguments>();
  CLI::App* command =
      dataset.add_subcommand("fetch", "Obtain a public data set where it is absent");
  command->add_option("NAME", arguments->name, fmt::format("{}", fmt::join(recipe_names(), ", ")))
      ->required();
  command->add_option("--to", arguments->to, "directory for its files; default data/NAME");
  command->add_option("--archive", arguments->archive, "an archive that is already there");
  command->add_option("--url", arguments->url, "where to download from instead");
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] {
    fetch_command(*arguments);
    result = ExitCode::ok;
  });
}

void add_inspect(CLI::App& dataset, ExitCode& result) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = dataset.add_subcommand(
      "inspect", "Counts, sizes, kinds and unreadable files of an experiment's data set");
  add_config_arguments(*command, *arguments);
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments, &result] {
    inspect_command(*arguments);
    result = ExitCode::ok;
  });
}

void add_synth(CLI::App& dataset, ExitCode& result) {
  auto arguments = std::make_shared<SynthArguments>();
  SynthOptions& options = arguments->options;
  CLI::App* command = dataset.add_subcommand("synth", "Write a folder of generated JPEG files");
  command->add_option("DIRECTORY", options.directory, "must not exist or be empty")->required();
  command->add_option("--samples", options.files, "files")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--classes", options.classes, "folders")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--median-bytes", arguments->median_bytes, "median file size, log-normal")
      ->capture_default_str();
  command->add_option("--sigma", options.image.sigma, "of the logarithm of the file size")
      ->check(CLI::Range(0.0, 4.0))
      ->capture_default_str();
  command->add_option("--seed", options.seed)->capture_default_str();
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] {
    synth_command(*arguments);
    result = ExitCode::ok;
  });
}

}  // namespace

void add_dataset(CLI::App& app, ExitCode& result) {
  CLI::App* dataset = app.add_subcommand("dataset", "Obtain, inspect and make data sets");
  dataset->require_subcommand(1);
  add_fetch(*dataset, result);
  add_inspect(*dataset, result);
  add_synth(*dataset, result);
  add_dataset_pack(*dataset, result);
  add_dataset_stage(*dataset, result);
}

}  // namespace stoker
