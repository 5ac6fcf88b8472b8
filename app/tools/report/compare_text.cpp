#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/tools/report/compare.h"
#include "io/core/config/config.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using nlohmann::json;

json difference_json(const Difference& one) {
  const auto value = [](const std::optional<std::string>& text) {
    return text ? json(*text) : json();
  };
  return {{"key", one.key}, {"a", value(one.values[0])}, {"b", value(one.values[1])}};
}

json metric_json(const MetricComparison& one) {
  return {{"name", one.metric.name},
          {"a", one.a},
          {"b", one.b},
          {"difference", one.difference.value},
          {"low", one.difference.low},
          {"high", one.difference.high},
          {"relative", one.metric.relative},
          {"values_a", one.values_a},
          {"values_b", one.values_b},
          {"autocorrelation", one.autocorrelation},
          {"verdict", to_string(one.verdict)}};
}

std::string metric_text(const MetricComparison& one) {
  const bool share = !one.metric.relative;
  const auto value = [&](double v) {
    return share ? fmt::format("{:.2f} %", 100 * v) : fmt::format("{:.4g}", v);
  };
  return fmt::format("  {:<31} {:>11} {:>11}   {:+.2f} {} ({:+.2f} to {:+.2f})  {}\n",
                     one.metric.name, value(one.a), value(one.b), 100 * one.difference.value,
                     share ? "points" : "%", 100 * one.difference.low, 100 * one.difference.high,
                     one.verdict == CompareVerdict::same ? "no difference shown" : "different");
}

std::string differences_text(const char* title, const std::vector<Difference>& list) {
  if (list.empty()) return fmt::format("{}: the same\n", title);
  std::string text = fmt::format("{}:\n", title);
  for (const Difference& one : list) {
    text += fmt::format("  {}: {} -> {}\n", one.key, one.values[0].value_or("-"),
                        one.values[1].value_or("-"));
  }
  return text;
}

double threshold_of(const std::string& text) {
  Share share;
  if (Scalar<Share>::parse(text, share)) return share.value;
  throw Error(ExitCode::config,
              fmt::format("--threshold: must be {}, got '{}'", Scalar<Share>::expected, text));
}

std::vector<RunFiles> read(const std::vector<std::string>& directories) {
  std::vector<RunFiles> runs;
  runs.reserve(directories.size());
  for (const std::string& directory : directories) runs.push_back(read_run_outcome(directory));
  return runs;
}

}  // namespace

json to_json(const Comparison& comparison) {
  json out = {{"schema_version", 1},
              {"a", comparison.a},
              {"b", comparison.b},
              {"verdict", to_string(comparison.verdict)},
              {"reasons", comparison.reasons},
              {"notes", comparison.notes},
              {"sample", comparison.by_runs ? "runs" : "windows"},
              {"metrics", json::array()},
              {"config", json::array()},
              {"environment", json::array()}};
  for (const MetricComparison& one : comparison.metrics) out["metrics"].push_back(metric_json(one));
  for (const Difference& one : comparison.config) out["config"].push_back(difference_json(one));
  for (const Difference& one : comparison.environment) {
    out["environment"].push_back(difference_json(one));
  }
  return out;
}

std::string to_text(const Comparison& comparison) {
  std::string text =
      fmt::format("A: {}\nB: {}\n", fmt::join(comparison.a, " "), fmt::join(comparison.b, " "));
  text += differences_text("configuration", comparison.config);
  text += differences_text("environment", comparison.environment);
  if (!comparison.metrics.empty()) {
    const MetricComparison& first = comparison.metrics.front();
    text += fmt::format("from {} and {} {}; B's difference from A with its 95 % interval:\n",
                        first.values_a, first.values_b, comparison.by_runs ? "runs" : "windows");
  }
  for (const MetricComparison& one : comparison.metrics) text += metric_text(one);
  for (const std::string& note : comparison.notes) text += fmt::format("  ({})\n", note);
  text += fmt::format("{}\n", to_string(comparison.verdict));
  for (const std::string& reason : comparison.reasons)
    text += fmt::format("  because: {}\n", reason);
  return text;
}

ExitCode compare_runs(CompareArguments arguments) {
  if (arguments.runs.size() == 1 || (!arguments.runs.empty() && !arguments.a.empty())) {
    throw Error(ExitCode::config,
                "compare: give two run directories or more, or sets by --a and --b");
  }
  if (arguments.runs.size() == 2) {
    arguments.a = {arguments.runs[0]};
    arguments.b = {arguments.runs[1]};
  }
  const bool many = arguments.runs.size() > 2;
  if (!many && (arguments.a.empty() || arguments.b.empty())) {
    throw Error(ExitCode::config, "compare: two run directories are needed, or --a and --b");
  }
  const CompareMetric& metric = compare_metric(arguments.metric);
  const bool limited = !arguments.threshold.empty();
  const double threshold = limited ? threshold_of(arguments.threshold) : 0;
  std::vector<std::string> all = many ? arguments.runs : arguments.a;
  if (!many) all.insert(all.end(), arguments.b.begin(), arguments.b.end());
  json out;
  std::string text;
  bool missed = false;
  using_files_of(all, [&] {
    if (many) {
      const ManyComparisons found = compare_many(read(arguments.runs), metric);
      missed = std::ranges::any_of(found.against_first,
                                   [&](const Comparison& one) { return misses(one, threshold); });
      out = to_json(found);
      text = to_text(found);
    } else {
      const Comparison found = compare(read(arguments.a), read(arguments.b), metric);
      missed = misses(found, threshold);
      out = to_json(found);
      text = to_text(found);
    }
  });
  missed = missed && limited;
  if (limited) out["threshold"] = {{"share", threshold}, {"missed", missed}};
  if (missed) {
    text += fmt::format("threshold missed: {} is worse by more than {}, or cannot be compared\n",
                        many ? "one of them" : "B", arguments.threshold);
  }
  print_result(arguments.json, out, text, 2);
  return missed ? ExitCode::threshold : ExitCode::ok;
}

}  // namespace stoker
