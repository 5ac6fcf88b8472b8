#include "app/tools/sweep/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "app/tools/report/run_files.h"
#include "app/tools/sweep/findings.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/csv.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using nlohmann::json;

// What a reader of a table looks for first.
constexpr std::array kHeadline{"images_per_s",     "device.idle_share",
                               "exposed_io_share", "io_share",
                               "device.au",        "mb_per_s",
                               "wall_s",           "steps",
                               "images",           "loss"};

json row_json(const SweepRow& row) {
  json value = {{"cell", row.cell},           {"repeat", row.repeat},
                {"hash", row.hash},           {"status", row.ok() ? "ok" : "failed"},
                {"exit_code", row.exit_code}, {"seconds", row.seconds},
                {"figures", row.figures}};
  if (!row.error.empty()) value["error"] = row.error;
  if (!row.directory.empty()) value["directory"] = row.directory;
  if (!row.conditions.is_null()) value["conditions"] = row.conditions;
  return value;
}

SweepRow read_row(const json& value) {
  SweepRow row;
  row.cell = value.at("cell").get<Coordinates>();
  row.repeat = whole_number(value.at("repeat"));
  row.hash = value.at("hash");
  row.exit_code = static_cast<int>(whole_number(value.at("exit_code")));
  row.error = value.value("error", "");
  row.directory = value.value("directory", "");
  row.seconds = value.at("seconds");
  row.figures = value.at("figures").get<Figures>();
  row.conditions = value.value("conditions", json());
  return row;
}

json axes_json(const SweepMatrix& matrix) {
  json axes = json::array();
  for (const SweepAxis& axis : matrix.axes) {
    axes.push_back({{"key", axis.key}, {"values", axis.names()}});
  }
  return axes;
}

}  // namespace

const SweepRow* SweepResults::find(const Coordinates& cell, int64_t repeat) const {
  for (const SweepRow& row : rows) {
    if (row.repeat == repeat && row.cell == cell) return &row;
  }
  return nullptr;
}

void SweepResults::put(SweepRow row) {
  std::erase_if(
      rows, [&](const SweepRow& old) { return old.repeat == row.repeat && old.cell == row.cell; });
  rows.push_back(std::move(row));
}

std::vector<double> values(const SweepOptions& options, const SweepResults& results,
                           const Coordinates& cell, const std::string& figure) {
  std::vector<double> found;
  for (int64_t repeat = options.drop_first ? 1 : 0; repeat < options.repeat; ++repeat) {
    const SweepRow* row = results.find(cell, repeat);
    if (row == nullptr || !row->ok()) continue;
    const auto value = row->figures.find(figure);
    if (value != row->figures.end()) found.push_back(value->second);
  }
  return found;
}

std::string filled_note(const std::string& note, const SweepOptions& options, const SweepPlan& plan,
                        const SweepResults& results,
                        const std::function<bool(const Coordinates&)>& of_cells) {
  std::string text;
  size_t from = 0;
  for (size_t at = note.find('{'); at != std::string::npos; at = note.find('{', from)) {
    const size_t end = note.find('}', at);
    if (end == std::string::npos) break;
    std::vector<double> found;
    for (const SweepCell& cell : plan.cells) {
      if (!of_cells(cell.at)) continue;
      const auto own = values(options, results, cell.at, note.substr(at + 1, end - at - 1));
      found.insert(found.end(), own.begin(), own.end());
    }
    text += note.substr(from, at - from);
    from = end + 1;
    if (found.empty()) {
      text += "an unknown number of";
      continue;
    }
    const auto [least, most] = std::ranges::minmax(found);
    const std::string low = fmt::format("{:.3g}", least), high = fmt::format("{:.3g}", most);
    text += low == high ? low : low + " to " + high;
  }
  return text + note.substr(from);
}

std::vector<std::string> main_figures(const SweepOptions& options) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const PlotOptions& plot : options.plots) {
    if (plot.x != kTime && plot.stack.empty()) add(plot.y);
    for (const std::string& part : plot.stack) add(plot.y + "." + part);
  }
  for (const FindingOptions& finding : options.findings) add(finding.value);
  if (names.empty()) names = {"images_per_s", "exposed_io_share"};
  return names;
}

std::vector<std::string> columns(const SweepOptions& options, const SweepResults& results) {
  std::set<std::string> names;
  for (const SweepRow& row : results.rows) {
    for (const auto& [name, value] : row.figures) names.insert(name);
  }
  std::vector<std::string> ordered;
  const auto take = [&](const std::string& name) {
    if (names.erase(name) > 0) ordered.push_back(name);
  };
  for (const std::string& name : main_figures(options)) take(name);
  for (const char* name : kHeadline) take(name);
  ordered.insert(ordered.end(), names.begin(), names.end());
  return ordered;
}

json results_json(const SweepOptions& options, const SweepPlan& plan, const SweepResults& results,
                  const std::string& directory) {
  json value = {{"schema_version", 1},
                {"name", options.name},
                {"command", commands_text(plan)},
                {"axes", axes_json(options.matrix)},
                {"repeat", options.repeat},
                {"drop_first", options.drop_first},
                {"interleave", options.interleave},
                {"runs_planned", plan.whole},
                {"main_figures", main_figures(options)},
                {"columns", columns(options, results)},
                {"machine", results.machine},
                {"started", results.started},
                {"notes", results.notes},
                {"rows", json::array()},
                {"plots", json::array()},
                {"findings", json::array()}};
  if (options.shortened) value["shortened"] = true;
  if (!results.finished.empty()) value["finished"] = results.finished;
  for (const SweepRow& row : results.rows) value["rows"].push_back(row_json(row));
  for (const PlotOptions& plot : plots_of(options, results)) {
    value["plots"].push_back(plot_json(options, plot, plan, results, directory));
  }
  for (const SweepFinding& finding : judge(options, plan, results)) {
    value["findings"].push_back(finding_json(finding));
  }
  return value;
}

SweepResults read_results(const std::string& path) {
  const std::optional<std::string> text = read_own_file(path);
  if (!text) throw Error(ExitCode::environment, path + " is missing: run the sweep first");
  return parse_results(*text, path);
}

SweepResults parse_results(std::string_view text, const std::string& path) {
  const auto refuse = [&path](const char* why) {
    throw Error(ExitCode::environment, path + " is no file of a sweep: " + why);
  };
  SweepResults results;
  try {
    const json value = parse_json(text, kOwnFiles);
    if (value.at("schema_version") != 1) throw Error(ExitCode::environment, "another schema");
    results.machine = value.at("machine");
    results.started = value.at("started");
    results.finished = value.value("finished", "");
    results.notes = value.at("notes").get<std::vector<std::string>>();
    for (const json& row : value.at("rows")) results.rows.push_back(read_row(row));
  } catch (const json::exception& error) {
    refuse(error.what());
  } catch (const Error& error) {
    refuse(error.what());
  }
  return results;
}

std::string definition_change(const SweepOptions& options, const SweepPlan& plan,
                              const SweepResults& results) {
  for (const SweepRow& row : results.rows) {
    std::string where;
    for (const auto& [axis, value] : row.cell) where += fmt::format("{}={} ", axis, value);
    const auto cell = std::ranges::find(plan.cells, row.cell, &SweepCell::at);
    if (cell == plan.cells.end()) return where + "is no cell of it any more";
    if (cell->hash != row.hash) return where + "was run with other settings";
    if (row.repeat >= options.repeat) return where + "was repeated more often";
  }
  return "";
}

std::string results_csv(const SweepOptions& options, const SweepResults& results) {
  const std::vector<std::string> names = columns(options, results);
  std::string text;
  for (const SweepAxis& axis : options.matrix.axes) text += csv_field(axis.key) + ",";
  text += "repeat,status,exit_code,seconds";
  for (const std::string& name : names) text += "," + csv_field(name);
  text += "\n";
  for (const SweepRow& row : results.rows) {
    for (const SweepAxis& axis : options.matrix.axes)
      text += csv_field(row.cell.at(axis.key)) + ",";
    text += fmt::format("{},{},{},{:.3f}", row.repeat, row.ok() ? "ok" : "failed", row.exit_code,
                        row.seconds);
    for (const std::string& name : names) {
      const auto value = row.figures.find(name);
      text += value == row.figures.end() ? "," : fmt::format(",{}", value->second);
    }
    text += "\n";
  }
  return text;
}

}  // namespace stoker
