#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/arena/runner.h"
#include "app/arena/table.h"
#include "app/commands/commands.h"
#include "app/run/stop_signal.h"

namespace stoker {
namespace {

struct Arguments {
  std::string file;
  std::vector<std::string> overrides;
  std::optional<int64_t> rounds;
  std::optional<int64_t> epochs;
  ArenaSelection selection;
  std::string directory;
  bool pixels = false;
  bool restart = false;
  bool report_only = false;
  bool json = false;
};

void say(const std::string& line) { fmt::print(stderr, "{}\n", line); }

ArenaOptions options_of(const Arguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.rounds) overrides.push_back(fmt::format("rounds={}", *arguments.rounds));
  if (arguments.epochs) overrides.push_back(fmt::format("epochs={}", *arguments.epochs));
  return read_arena(arguments.file, overrides);
}

ExitCode bench_arena(const Arguments& arguments) {
  const ArenaOptions options = options_of(arguments);
  const std::string directory =
      arguments.directory.empty() ? "arenas/" + options.name : arguments.directory;
  const std::vector<ArenaRun> plan = plan_arena(options, arguments.selection);
  const std::string file = directory + "/results.jsonl";
  if (arguments.restart) std::filesystem::remove(file);
  ArenaResults results(file);
  const StopSignal stop;
  std::vector<ArenaRow> failed;
  if (!arguments.report_only) {
    const ArenaRunner runner(options, directory, stop, say);
    if (arguments.pixels) {
      runner.run_pixels(plan_pixels(options, arguments.selection, directory), failed);
    }
    if (!stop.requested()) runner.run(plan, results);
  }
  ArenaTable table = make_table(options, arguments.selection, plan, results,
                                compare_all_pixels(options, directory));
  for (const ArenaRow& row : failed) {
    table.failed.push_back({row.entry, row.workers, row.round, "pixels: " + row.error});
  }
  if (arguments.json) {
    fmt::print("{}\n", table_json(options, table).dump());
  } else {
    fmt::print("{}results: {}\n", table_text(options, table), file);
  }
  if (stop.requested()) return stop.exit_code();
  return table.failed.empty() ? ExitCode::ok : ExitCode::environment;
}

}  // namespace

void add_bench_arena(CLI::App& bench, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = bench.add_subcommand(
      "arena", "This program's loaders beside others, interleaved; goes on where it was");
  command->add_option("ARENA", arguments->file, "a YAML file: entries with their commands")
      ->required();
  command
      ->add_option("OVERRIDES", arguments->overrides,
                   "a.b=value, in the place of the arena file's: timeout_s=60")
      ->type_name("a.b=c");
  command->add_option("--rounds", arguments->rounds, "every command once in each")
      ->check(CLI::Range(1, 1000));
  command->add_option("--epochs", arguments->epochs, "measured epochs of each command")
      ->check(CLI::Range(1, 1000));
  command->add_option("--workers", arguments->selection.workers, "only these numbers: 1,2")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--only", arguments->selection.only, "only these: parts of names, or classes")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--directory", arguments->directory, "of the results; default arenas/<name>");
  command->add_flag("--pixels", arguments->pixels,
                    "first compare the pixels of each with those of its class's reference");
  command->add_flag("--restart", arguments->restart, "throw away what was measured and begin anew");
  command->add_flag("--report-only", arguments->report_only, "run nothing; print what is there");
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] { result = bench_arena(*arguments); });
}

}  // namespace stoker
