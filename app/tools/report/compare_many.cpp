#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/tools/report/compare.h"

namespace stoker {
namespace {

using nlohmann::json;

// A line of a terminal has room for so many options.
constexpr size_t kMostOptions = 4;

std::string value_text(const CompareMetric& metric, double value) {
  return metric.relative ? fmt::format("{:.4g}", value) : fmt::format("{:.1f} %", 100 * value);
}

const MetricComparison* find_metric(const Comparison& comparison, const std::string& name) {
  const auto found = std::ranges::find(comparison.metrics, name,
                                       [](const MetricComparison& one) { return one.metric.name; });
  return found == comparison.metrics.end() ? nullptr : &*found;
}

std::string difference_text(const MetricComparison& one) {
  return fmt::format("{:+.1f} {} ({:+.1f} to {:+.1f})", 100 * one.difference.value,
                     one.metric.relative ? "%" : "points", 100 * one.difference.low,
                     100 * one.difference.high);
}

// run: 0 for the first, which all others are compared with.
ResultTable::Cell level_cell(const ManyComparisons& many, const std::string& name, size_t run) {
  const MetricComparison* const one = find_metric(many.against_first[run == 0 ? 0 : run - 1], name);
  if (one == nullptr) return {};
  return value_text(one->metric, run == 0 ? one->a : one->b);
}

}  // namespace

ManyComparisons compare_many(const std::vector<RunFiles>& runs, const CompareMetric& metric) {
  ManyComparisons many;
  std::vector<Leaves> trees{config_leaves(runs.front())};
  for (size_t i = 1; i < runs.size(); ++i) {
    many.against_first.push_back(compare({runs.front()}, {runs[i]}, metric));
    trees.push_back(config_leaves(runs[i]));
  }
  many.config = differences(trees);
  return many;
}

json to_json(const ManyComparisons& many) {
  json out = {{"schema_version", 1},
              {"runs", many.against_first.front().a},
              {"config", json::array()},
              {"comparisons", json::array()}};
  for (const Difference& one : many.config) {
    json values = json::array();
    for (const auto& value : one.values) values.push_back(value ? json(*value) : json());
    out["config"].push_back({{"key", one.key}, {"values", std::move(values)}});
  }
  for (const Comparison& one : many.against_first) {
    out["runs"].push_back(one.b.front());
    out["comparisons"].push_back(to_json(one));
  }
  return out;
}

std::string to_text(const ManyComparisons& many) {
  const Comparison& first = many.against_first.front();
  const std::string name =
      first.metrics.empty() ? "images_per_s" : first.metrics.front().metric.name;
  std::vector<ResultTable::Column> columns{{"", "run"}};
  const size_t options = std::min(many.config.size(), kMostOptions);
  for (size_t i = 0; i < options; ++i) columns.push_back({"", many.config[i].key});
  std::vector<std::string> figures{name};
  for (const char* other : {"images_per_s", "device.idle_share", "exposed_io_share"}) {
    if (other != name) figures.emplace_back(other);
  }
  for (const std::string& figure : figures) columns.push_back({"", figure});
  columns.push_back({"", name + " against the first (95 %)"});
  columns.push_back({"", "verdict"});
  ResultTable table(std::move(columns));
  for (size_t run = 0; run <= many.against_first.size(); ++run) {
    std::vector<ResultTable::Cell> row{run == 0 ? first.a.front()
                                                : many.against_first[run - 1].b.front()};
    for (size_t i = 0; i < options; ++i) row.emplace_back(many.config[i].values[run].value_or("-"));
    for (const std::string& figure : figures) row.push_back(level_cell(many, figure, run));
    const MetricComparison* const one =
        run == 0 ? nullptr : find_metric(many.against_first[run - 1], name);
    row.push_back(one == nullptr ? ResultTable::Cell() : difference_text(*one));
    row.push_back(run == 0 ? ResultTable::Cell() : to_string(many.against_first[run - 1].verdict));
    table.add(std::move(row));
    if (run == 0) continue;
    for (const std::string& reason : many.against_first[run - 1].reasons) {
      table.note("  because: " + reason);
    }
  }
  std::string text = table.text();
  if (many.config.size() > options) {
    text +=
        fmt::format("and {} more options differ: --json has all\n", many.config.size() - options);
  }
  return text;
}

}  // namespace stoker
