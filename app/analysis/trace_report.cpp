#include "app/analysis/trace_report.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/analysis/run_files.h"
#include "app/analysis/trace_figures.h"
#include "app/base/result_table.h"

namespace stoker {
namespace {

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

}  // namespace

ExitCode compare_with_trace(const std::string& run, bool json) {
  const TraceFigures figures = read_trace_figures(run + "/trace.json");
  const std::map<std::string, double> from_trace = by_name(figures);
  const bool ended = std::filesystem::exists(run + "/summary.json");
  std::map<std::string, double> from_summary, deviation;
  if (ended) from_summary = by_name(read_run(run).summary);
  if (figures.complete) deviation = deviations(from_trace, from_summary);
  if (json) {
    nlohmann::json line = {{"complete", figures.complete},   {"events", figures.events},
                           {"bad_lines", figures.bad_lines}, {"trace", from_trace},
                           {"summary", from_summary},        {"deviation_percent", deviation}};
    if (!figures.complete) line["incomplete"] = figures.incomplete;
    fmt::print("{}\n", line.dump(2));
    return ExitCode::ok;
  }
  fmt::print("{} events, {} lines that are none\n", figures.events, figures.bad_lines);
  if (!figures.complete) {
    fmt::print("not compared with summary.json: the trace is not whole; {}\n", figures.incomplete);
  } else if (!ended) {
    fmt::print("not compared: there is no summary.json\n");
  }
  ResultTable table({{"", "figure"},
                     {"", "from the trace", 6},
                     {"", "summary.json", 6},
                     {"", "differs by %", 3}});
  const auto value_in = [](const std::map<std::string, double>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? ResultTable::Cell() : ResultTable::Cell(found->second);
  };
  for (const auto& [name, value] : from_trace) {
    table.add({name, value, value_in(from_summary, name), value_in(deviation, name)});
  }
  fmt::print("{}", table.text());
  return ExitCode::ok;
}

}  // namespace stoker
