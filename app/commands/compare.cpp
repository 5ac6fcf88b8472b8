#include "app/analysis/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"

namespace stoker {
namespace {

struct Arguments {
  std::vector<std::string> pair;
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::string metric = "images_per_s";
  std::string threshold;
  bool json = false;
};

// "5%" or "0.05".
double share(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const bool percent = at + 1 == end && *at == '%';
  if (error != std::errc() || !(at == end || percent) || value < 0) {
    throw Error(ExitCode::config, "--threshold: '" + text + "': expected a share such as 5%");
  }
  return percent ? value / 100 : value;
}

std::vector<RunFiles> read(const std::vector<std::string>& directories) {
  std::vector<RunFiles> runs;
  runs.reserve(directories.size());
  for (const std::string& directory : directories) runs.push_back(read_run(directory));
  return runs;
}

ExitCode compare_runs(Arguments arguments) {
  if (!arguments.pair.empty() && (arguments.pair.size() != 2 || !arguments.a.empty())) {
    throw Error(ExitCode::config, "compare: give two run directories, or sets by --a and --b");
  }
  if (!arguments.pair.empty()) {
    arguments.a = {arguments.pair[0]};
    arguments.b = {arguments.pair[1]};
  }
  if (arguments.a.empty() || arguments.b.empty()) {
    throw Error(ExitCode::config, "compare: two run directories are needed, or --a and --b");
  }
  const CompareMetric& metric = compare_metric(arguments.metric);
  const bool limited = !arguments.threshold.empty();
  const double threshold = limited ? share(arguments.threshold) : 0;
  const Comparison comparison = compare(read(arguments.a), read(arguments.b), metric);
  const bool missed = limited && misses(comparison, threshold);
  if (arguments.json) {
    nlohmann::json json = to_json(comparison);
    if (limited) json["threshold"] = {{"share", threshold}, {"missed", missed}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", to_text(comparison));
    if (missed)
      fmt::print("threshold missed: B is worse by more than {}, or cannot be compared\n",
                 arguments.threshold);
  }
  return missed ? ExitCode::threshold : ExitCode::ok;
}

}  // namespace

void add_compare(CLI::App& app, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "Two runs, or two sets of runs: what differs, and is it noise?");
  command->add_option("RUN", arguments->pair, "A and B, directories of runs")->expected(0, 2);
  command->add_option("--a", arguments->a, "directories of the runs of side A");
  command->add_option("--b", arguments->b, "directories of the runs of side B");
  command->add_option("--metric", arguments->metric, "what the verdict is about")
      ->capture_default_str();
  command->add_option("--threshold", arguments->threshold,
                      "exit code 7 where B is worse by more than this, with confidence, or cannot "
                      "be compared");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments, &result] { result = compare_runs(*arguments); });
}

}  // namespace stoker
