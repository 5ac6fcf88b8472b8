#include "app/tools/import_dlio/au.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/base/result_table.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

// A row of steps.csv.
struct Step {
  double end = 0;      // seconds since the training began
  double compute = 0;  // of it, all steps so far
};

// The rows of each epoch.
std::map<int64_t, std::vector<Step>> steps_of(const Table& table) {
  const Table::Column &number = table.column("steps"), &epoch = table.column("epoch"),
                      &end = table.column("wall_s"), &compute = table.column("segments_s.compute");
  std::map<int64_t, std::vector<Step>> epochs;
  double before = 0;
  // A file that lacks one of them has no such row.
  const size_t rows = std::min({number.size(), epoch.size(), end.size(), compute.size()});
  for (size_t row = 0; row < rows; ++row) {
    if (!number[row] || !epoch[row] || !end[row] || !compute[row]) continue;
    if (*number[row] == before) continue;  // the last row stands there twice
    if (*number[row] != before + 1) {
      throw Error(ExitCode::config,
                  "steps.csv: a row holds several steps, and AU is computed of each: set "
                  "metrics.every_steps=1 for the run");
    }
    before = *number[row];
    epochs[static_cast<int64_t>(*epoch[row])].push_back({*end[row], *compute[row]});
  }
  return epochs;
}

nlohmann::json member(const nlohmann::json& json, const char* pointer) {
  const nlohmann::json::json_pointer at(pointer);
  return json.contains(at) ? json.at(at) : nlohmann::json();
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string text_of(const nlohmann::json& json) {
  const double mean = json.at("au_mean").get<double>(), target = json.at("target").get<double>();
  std::vector<std::string> each;
  for (const nlohmann::json& au : json.at("au")) each.push_back(percent(au.get<double>()));
  std::string text =
      fmt::format("AU as DLIO computes it: {} ({}): the target of {} is {}\n", percent(mean),
                  fmt::join(each, ", "), percent(target), mean >= target ? "met" : "missed");
  const nlohmann::json& idle = json.at("idle_share");
  if (idle.is_number()) {
    text += fmt::format("of the whole run, first steps included, the accelerator worked {}\n",
                        percent(1 - idle.get<double>()));
  }
  const auto line = [&](const char* title, const char* key) {
    const nlohmann::json& value = json.at(key);
    if (value.is_string())
      text += fmt::format("{}: {}\n", title, printable(value.get<std::string>()));
  };
  line("what bounded it", "verdict");
  for (const nlohmann::json& evidence : json.at("evidence")) {
    text += "  " + printable(evidence.get<std::string>()) + "\n";
  }
  line("try", "next");
  line("what was cold", "page_cache");
  return text;
}

}  // namespace

std::vector<double> dlio_au(const DlioWorkload& workload, const Table& table) {
  const int64_t first = workload.excluded_first, last = workload.excluded_last;
  std::vector<double> all;
  double before = 0, computed_before = 0;  // where the epoch begins
  for (const auto& of_epoch : steps_of(table)) {
    const std::vector<Step>& steps = of_epoch.second;
    const int64_t counted = std::ssize(steps) - first - last;
    if (counted >= 1) {
      const auto at = [&](int64_t i) {
        return i == 0 ? Step{before, computed_before} : steps[static_cast<size_t>(i - 1)];
      };
      const Step from = at(first), to = at(first + counted);
      if (to.end > from.end) all.push_back((to.compute - from.compute) / (to.end - from.end));
    }
    before = steps.back().end;
    computed_before = steps.back().compute;
  }
  return all;
}

ExitCode print_au(const DlioWorkload& workload, const std::string& directory, bool json) {
  const RunFiles run = read_run(newest_run(directory, true));
  return using_files_of({run.directory}, [&] {
    const std::vector<double> au = dlio_au(workload, run.steps);
    if (au.empty()) {
      throw Error(ExitCode::config,
                  run.directory +
                      ": no epoch of this run has two steps: train on more files, or "
                      "in smaller batches");
    }
    const Verdict verdict = verdict_of(run);
    const nlohmann::json result{
        {"run", run.directory},
        {"au", au},
        {"au_mean", std::accumulate(au.begin(), au.end(), 0.0) / static_cast<double>(au.size())},
        {"target", workload.au},
        {"idle_share", member(run.summary, "/device/idle_share")},
        {"verdict", verdict.text},
        {"cause", verdict.cause},
        {"next", verdict.next},
        {"evidence", verdict.evidence},
        {"page_cache", member(run.summary, "/page_cache/text")}};
    return print_result(json, result, text_of(result));
  });
}

}  // namespace stoker
