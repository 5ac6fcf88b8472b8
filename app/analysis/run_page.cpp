#include "app/analysis/run_page.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/analysis/differences.h"
#include "app/analysis/report_page.h"
#include "app/analysis/thinned.h"
#include "app/base/json.h"
#include "io/core/file.h"

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
std::string label(const std::vector<RunFiles>& runs, size_t at) {
  std::string name = name_of(runs[at]);
  const auto same = [&](const RunFiles& run) { return name_of(run) == name; };
  if (std::ranges::count_if(runs, same) == 1) return name;
  return name + " " + std::to_string(at + 1);
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

json run_json(const RunFiles& run, const std::string& label) {
  json value = {{"label", label},
                {"directory", run.directory},
                {"environment", run.environment},
                {"config", run.config},
                {"overrides", read_if_there(run.path("overrides")).value_or("")},
                {"steps", thinned(run.steps, kMaxRows)},
                {"timeline", thinned(run.timeline, kMaxRows)},
                {"tiers", tiers(run.summary)}};
  value["name"] = name_of(run);
  if (run.summary.is_object()) value["summary"] = run.summary;
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

}  // namespace

json run_page_data(const std::vector<RunFiles>& runs) {
  json data = {{"kind", runs.size() == 1 ? "run" : "runs"}, {"runs", json::array()}};
  for (size_t i = 0; i < runs.size(); ++i)
    data["runs"].push_back(run_json(runs[i], label(runs, i)));
  if (runs.size() > 1) {
    data["differences"] = {{"config", differences_json(runs, config_leaves)},
                           {"environment", differences_json(runs, environment_leaves)}};
  }
  return data;
}

std::string run_page(const std::vector<RunFiles>& runs) { return report_html(run_page_data(runs)); }

}  // namespace stoker
