#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "app/base/result_table.h"
#include "app/tools/runs/run_list.h"
#include "io/core/text/csv.h"
#include "io/core/text/text.h"
#include "io/metrics/verdict/verdict.h"

namespace stoker {
namespace {

using nlohmann::json;

// A line of a terminal has room for some of them.
constexpr size_t kMostShown = 3;

std::string differs_text(const ListedRun& run) {
  std::string text = run.sweep ? fmt::format("{} of {}", run.done, plural(run.planned, "run")) : "";
  for (size_t i = 0; i < std::min(run.differs.size(), kMostShown); ++i) {
    const auto& [key, value] = run.differs[i];
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  }
  if (run.differs.size() > kMostShown) {
    text += fmt::format(" and {} more", run.differs.size() - kMostShown);
  }
  return text;
}

ResultTable::Cell rate_cell(const ListedRun& run) {
  if (run.range && run.range->first < run.range->second) {
    return fmt::format("{:.0f} to {:.0f}", run.range->first, run.range->second);
  }
  const auto rate = run.range ? std::optional(run.range->second) : run.figure("images_per_s");
  if (!rate) return {};
  return *rate < 100 ? fmt::format("{:.1f}", *rate) : fmt::format("{:.0f}", *rate);
}

ResultTable::Cell share_cell(const ListedRun& run, const char* figure) {
  const auto share = run.figure(figure);
  return share ? ResultTable::Cell(fmt::format("{:.1f} %", 100 * *share)) : ResultTable::Cell();
}

json run_json(const ListedRun& run) {
  json out = {{"name", run.name},
              {"directory", run.directory},
              {"kind", run.sweep ? "sweep" : "run"},
              {"state", to_string(run.state)},
              {"figures", json::object()},
              {"differs", json::object()}};
  if (!run.verdict.empty()) {
    out["verdict"] = run.verdict;
    out["verdict_title"] = title_of(run.verdict);
  }
  if (run.started_unix_s) out["started_unix_s"] = *run.started_unix_s;
  if (!run.live.empty()) out["live"] = run.live;
  for (const std::string& name : listed_figures()) {
    if (const auto value = run.figure(name)) out["figures"][name] = *value;
  }
  if (const auto idle = run.figure("device.idle_share")) {
    out["judged"] = judged_shares({{"device", {{"idle_share", *idle}}}});
  }
  for (const auto& [key, value] : run.differs) out["differs"][key] = value;
  if (run.sweep) {
    out["runs"] = {{"done", run.done}, {"planned", run.planned}};
    if (run.range) out["images_per_s"] = {{"min", run.range->first}, {"max", run.range->second}};
  }
  return out;
}

}  // namespace

json runs_json(const std::string& folder, const std::vector<ListedRun>& runs) {
  json out = {{"schema_version", 1}, {"folder", folder}, {"runs", json::array()}};
  for (const ListedRun& run : runs) out["runs"].push_back(run_json(run));
  return out;
}

std::string runs_text(const std::vector<ListedRun>& runs) {
  ResultTable table({{"", "name"},
                     {"", "state"},
                     {"", "images/s"},
                     {"", "device idle"},
                     {"", "I/O share"},
                     {"", "verdict"},
                     {"", "differs by"}});
  for (const ListedRun& run : runs) {
    const std::string verdict = title_of(run.verdict), differs = differs_text(run);
    table.add({run.name, to_string(run.state), rate_cell(run), share_cell(run, "device.idle_share"),
               share_cell(run, "io_share"),
               verdict.empty() ? ResultTable::Cell() : ResultTable::Cell(verdict),
               differs.empty() ? ResultTable::Cell() : ResultTable::Cell(differs)});
  }
  return table.text();
}

std::string runs_csv(const std::vector<ListedRun>& runs) {
  std::set<std::string> keys;
  for (const ListedRun& run : runs) {
    for (const auto& [key, value] : run.differs) keys.insert(key);
  }
  std::string text = "name,kind,state,verdict,started_utc";
  for (const std::string& name : listed_figures()) text += "," + csv_field(name);
  for (const std::string& key : keys) text += "," + csv_field(key);
  text += "\n";
  for (const ListedRun& run : runs) {
    text += fmt::format("{},{},{},{},{:%Y-%m-%dT%H:%M:%SZ}", csv_field(run.name),
                        run.sweep ? "sweep" : "run", to_string(run.state), csv_field(run.verdict),
                        fmt::gmtime(static_cast<std::time_t>(run.started_unix_s.value_or(0))));
    for (const std::string& name : listed_figures()) {
      const auto value = run.figure(name);
      text += value ? fmt::format(",{}", *value) : ",";
    }
    for (const std::string& key : keys) {
      const std::string* const value = find_leaf(run.config, key);
      text += "," + (value == nullptr ? "" : csv_field(*value));
    }
    text += "\n";
  }
  return text;
}

}  // namespace stoker
