#include "io/core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/base/result_table.h"
#include "app/tools/sweep/findings.h"
#include "app/tools/sweep/results.h"

namespace stoker {
namespace {

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string value_text(const std::vector<double>& values) {
  if (values.empty()) return "not measured";
  const Spread s = spread(values);
  if (values.size() == 1) return number(s.median);
  return fmt::format("{} ({} to {})", number(s.median), number(s.min), number(s.max));
}

std::string cells_text(const SweepOptions& options, const SweepPlan& plan,
                       const SweepResults& results) {
  const std::vector<std::string> figures = main_figures(options);
  std::vector<ResultTable::Column> columns;
  for (const std::string& axis : options.matrix.keys()) columns.push_back({"", axis});
  columns.push_back({"", "runs"});
  for (const std::string& name : figures) columns.push_back({"", name});
  ResultTable table(std::move(columns));
  for (const SweepCell& cell : plan.cells) {
    std::vector<ResultTable::Cell> line;
    for (const SweepAxis& axis : options.matrix.axes) line.emplace_back(cell.at.at(axis.key));
    const auto good = std::ranges::count_if(
        results.rows, [&](const SweepRow& row) { return row.ok() && row.cell == cell.at; });
    line.emplace_back(std::to_string(good));
    for (const std::string& name : figures) {
      line.emplace_back(value_text(values(options, results, cell.at, name)));
    }
    table.add(std::move(line));
  }
  return table.text();
}

std::string expected_text(const FindingOptions& statement) {
  std::string text;
  if (statement.published) text += fmt::format(" published {}", number(*statement.published));
  if (statement.tolerance) {
    text += fmt::format(" +- {:.3g} %", 100 * statement.tolerance->value);
  }
  if (!statement.mark.empty()) text += fmt::format(" [{}]", statement.mark);
  if (statement.at_most) text += fmt::format(" at most {}", number(*statement.at_most));
  if (statement.at_least) text += fmt::format(" at least {}", number(*statement.at_least));
  return text;
}

std::string findings_text(const std::vector<SweepFinding>& findings) {
  std::string text;
  for (const SweepFinding& finding : findings) {
    const FindingOptions& statement = finding.statement;
    text += fmt::format("  {:<12} {}: ", to_string(finding.verdict), statement.name);
    if (finding.measured) {
      const Interval& measured = *finding.measured;
      text += fmt::format("{} ({} to {});", number(measured.value), number(measured.low),
                          number(measured.high));
    }
    text += expected_text(statement);
    if (!statement.fitted.empty()) text += fmt::format(" (fitted: {})", statement.fitted);
    text += "\n";
  }
  return text.empty() ? "" : "findings\n" + text;
}

std::string failures_text(const SweepOptions& options, const SweepResults& results) {
  std::string text;
  for (const SweepRow& row : results.rows) {
    if (row.ok()) continue;
    text +=
        fmt::format("  {} repeat {}: exit code {}: {}\n", stoker::text(options.matrix, row.cell),
                    row.repeat, row.exit_code, row.error);
  }
  return text.empty() ? "" : "failed\n" + text;
}

// Figures that plots and findings ask for and no run has.
std::string unknown_text(const SweepOptions& options, const SweepResults& results) {
  std::set<std::string> known;
  for (const SweepRow& row : results.rows) {
    for (const auto& [name, value] : row.figures) known.insert(name);
  }
  std::string text;
  if (known.empty()) return text;
  for (const std::string& name : main_figures(options)) {
    if (known.contains(name)) continue;
    text += fmt::format("no run has the figure '{}'{}\n", name,
                        suggestion(name, {known.begin(), known.end()}));
  }
  return text;
}

}  // namespace

std::string conditions_text(const SweepResults& results) {
  std::set<std::string> devices, tiers, caches;
  for (const SweepRow& row : results.rows) {
    const nlohmann::json& conditions = row.conditions;
    if (!row.ok() || !conditions.is_object()) continue;
    if (conditions.value("simulated", false)) return "SIMULATED";
    const nlohmann::json device = conditions.value("device", nlohmann::json());
    if (device.is_object()) devices.insert(device.value("name", "unknown"));
    const nlohmann::json storage = conditions.value("tiers", nlohmann::json::object());
    for (const auto& [name, tier] : storage.items()) {
      const bool emulated = tier.is_object() && tier.value("emulated", false);
      tiers.insert(name + " " + (emulated ? "EMULATED" : tier.value("type", "of unknown type")));
    }
    const nlohmann::json cache = conditions.value("page_cache", nlohmann::json());
    if (cache.is_string()) caches.insert(cache);
  }
  std::string text;
  const auto add = [&](const char* what, const std::set<std::string>& found) {
    if (!found.empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", what, fmt::join(found, ", "));
  };
  add("device", devices);
  add("storage", tiers);
  add("page cache", caches);
  return text;
}

std::string results_text(const SweepOptions& options, const SweepPlan& plan,
                         const SweepResults& results) {
  std::string text =
      fmt::format("{}: {} of {}; medians (minimum to maximum){}\n", options.name,
                  results.rows.size(), plural(plan.whole, "run"),
                  options.drop_first ? " without the first repetition of each cell" : "");
  text += cells_text(options, plan, results);
  if (const std::string of = conditions_text(results); !of.empty()) {
    text += "conditions: " + of + "\n";
  }
  text += findings_text(judge(options, plan, results));
  text += failures_text(options, results) + unknown_text(options, results);
  for (const std::string& note : results.notes) text += note + "\n";
  return text;
}

std::string plan_text(const SweepOptions& options, const SweepPlan& plan) {
  std::string result;
  std::set<size_t> cells;
  for (const SweepRun& run : plan.runs) cells.insert(run.cell);
  for (const size_t cell : cells) result += text(options.matrix, plan.cells[cell].at) + "\n";
  return result + fmt::format("{}, {} of `stoker {}`\n", plural(cells.size(), "cell"),
                              plural(plan.runs.size(), "run"), commands_text(plan));
}

}  // namespace stoker
