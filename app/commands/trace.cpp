#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/analysis/run_files.h"
#include "app/analysis/trace_figures.h"
#include "app/commands/commands.h"

namespace stoker {
namespace {

struct Arguments {
  std::string run;
  bool json = false;
};

// Of what both have. Nothing against nothing is no deviation.
std::map<std::string, double> deviations(const std::map<std::string, double>& trace,
                                         const std::map<std::string, double>& summary) {
  std::map<std::string, double> result;
  for (const auto& [name, value] : trace) {
    const auto other = summary.find(name);
    if (other == summary.end()) continue;
    const double difference = value - other->second;
    if (difference == 0) {
      result[name] = 0;
    } else if (other->second != 0) {
      result[name] = 100 * difference / std::abs(other->second);
    }
  }
  return result;
}

void compare(const Arguments& arguments) {
  const TraceFigures figures = read_trace_figures(arguments.run + "/trace.json");
  const std::map<std::string, double> from_trace = by_name(figures);
  const bool ended = std::filesystem::exists(arguments.run + "/summary.json");
  std::map<std::string, double> from_summary, deviation;
  if (ended) from_summary = by_name(read_run(arguments.run).summary);
  if (figures.complete) deviation = deviations(from_trace, from_summary);
  if (arguments.json) {
    nlohmann::json json = {{"complete", figures.complete},   {"events", figures.events},
                           {"bad_lines", figures.bad_lines}, {"trace", from_trace},
                           {"summary", from_summary},        {"deviation_percent", deviation}};
    if (!figures.complete) json["incomplete"] = figures.incomplete;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} events, {} lines that are none\n", figures.events, figures.bad_lines);
  if (!figures.complete) {
    fmt::print("not compared with summary.json: the trace is not whole; {}\n", figures.incomplete);
  } else if (!ended) {
    fmt::print("not compared: there is no summary.json\n");
  }
  fmt::print("{:<32} {:>18} {:>18} {:>10}\n", "figure", "from the trace", "summary.json",
             "differs");
  for (const auto& [name, value] : from_trace) {
    const auto other = from_summary.find(name);
    const auto by = deviation.find(name);
    fmt::print("{:<32} {:>18.6f} {:>18} {:>10}\n", name, value,
               other == from_summary.end() ? "" : fmt::format("{:.6f}", other->second),
               by == deviation.end() ? "" : fmt::format("{:+.3f} %", by->second));
  }
}

}  // namespace

void add_trace(CLI::App& app, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "trace", "Recompute a run's figures from its trace.json, beside its summary.json");
  command->add_option("RUN", arguments->run, "a run's directory")->required();
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments, &result] {
    compare(*arguments);
    result = ExitCode::ok;
  });
}

}  // namespace stoker
