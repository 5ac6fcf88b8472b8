#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "app/tools/darshan/darshan.h"
#include "app/tools/report/differences.h"
#include "app/tools/report/report.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/threads.h"
#include "io/metrics/record/figures.h"

namespace stoker {
namespace {

using nlohmann::json;

// More points than a screen has pixels across say nothing more.
constexpr size_t kMaxRows = 2000;

std::string last_part(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

std::string name_of(const RunFiles& run) {
  const json config = to_json(parse_yaml(run.config, run.path("config.yaml")));
  const json name = config.value("/run/name"_json_pointer, json());
  return name.is_string() ? name.get<std::string>() : last_part(run.directory);
}

// The name where that tells them apart, else with a number.
std::vector<std::string> labels(const std::vector<std::string>& names) {
  std::map<std::string, size_t> counts;
  for (const std::string& name : names) ++counts[name];
  std::vector<std::string> result;
  result.reserve(names.size());
  for (const std::string& name : names) {
    result.push_back(counts[name] == 1 ? name : name + " " + std::to_string(result.size() + 1));
  }
  return result;
}

json tiers(const json& summary) {
  json list = json::array();
  if (!summary.is_object() || !summary.contains("tiers")) return list;
  for (const auto& [name, tier] : summary["tiers"].items()) {
    list.push_back(tier);
    list.back()["tier"] = name;
  }
  return list;
}

json run_json(const RunFiles& run, const std::string& name, const std::string& label) {
  json value = {{"label", label},
                {"directory", run.directory},
                {"environment", run.environment},
                {"config", run.config},
                {"overrides", read_own_file(run.path("overrides")).value_or("")},
                {"steps", thinned(run.steps, kMaxRows)},
                {"timeline", thinned(run.timeline, kMaxRows)},
                {"tiers", tiers(run.summary)}};
  value["name"] = name;
  if (run.summary.is_object()) {
    value["summary"] = run.summary;
    value["summary"]["verdict"] = verdict_of(run);
    value["summary"]["judged"] = judged_shares(run.summary);
  }
  if (json sessions = profile_page_data(run.directory); !sessions.empty()) {
    value["io_profiles"] = std::move(sessions);
  }
  return value;
}

json differences_json(const std::vector<RunFiles>& runs, Leaves (*read)(const RunFiles&)) {
  std::vector<Leaves> trees;
  trees.reserve(runs.size());
  for (const RunFiles& run : runs) trees.push_back(read(run));
  json list = json::array();
  for (const Difference& difference : differences(trees)) {
    json values = json::array();
    for (const auto& value : difference.values) values.push_back(value ? json(*value) : json());
    list.push_back({{"key", difference.key}, {"values", std::move(values)}});
  }
  return list;
}

// Quotients are averaged. For what grows or stays the same, the last value counts.
bool averaged(const std::string& column) {
  const Figure* figure = find_figure(column);
  return figure == nullptr || figure->kind == FigureKind::quotient;
}

json merged(const Table::Column& column, size_t from, size_t to, bool average) {
  double sum = 0;
  double last = 0;
  int count = 0;
  for (size_t row = from; row < to; ++row) {
    if (!column[row]) continue;
    last = *column[row];
    sum += last;
    ++count;
  }
  if (count == 0) return nullptr;
  return average ? sum / count : last;
}

}  // namespace

json thinned(const Table& table, size_t most) {
  const size_t step = (table.rows() + most - 1) / most;
  json result = json::object();
  for (const std::string& name : table.names()) {
    const Table::Column& column = table.column(name);
    json values = json::array();
    for (size_t row = 0; row < column.size(); row += step) {
      const size_t end = std::min(column.size(), row + step);
      values.push_back(merged(column, row, end, averaged(name)));
    }
    result[name] = std::move(values);
  }
  return result;
}

json run_page_data(const std::vector<RunFiles>& runs) {
  json data = {{"kind", runs.size() == 1 ? "run" : "runs"}, {"runs", json::array()}};
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const RunFiles& run : runs) names.push_back(name_of(run));
  const std::vector<std::string> called = labels(names);
  for (size_t i = 0; i < runs.size(); ++i) {
    throw_if_interrupted();
    data["runs"].push_back(run_json(runs[i], names[i], called[i]));
  }
  if (runs.size() > 1) {
    data["differences"] = {{"config", differences_json(runs, config_leaves)},
                           {"environment", differences_json(runs, environment_leaves)}};
  }
  return data;
}

}  // namespace stoker
