#include "app/tools/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using nlohmann::json;
using Runs = std::vector<RunFiles>;

constexpr size_t kFewestWindows = 5;
constexpr size_t kFewestRuns = 3;

// The figure of all ranks together in a window of rank 0: rates are summed, and shares are
// averaged. Absent if a rank has no row of that step.
std::optional<double> of_all_ranks(const RunFiles& run, const CompareMetric& metric, size_t row) {
  if (run.other_ranks.empty()) return run.steps.column(metric.name)[row];
  const auto step = run.steps.column("steps").at(row);
  double sum = *run.steps.column(metric.name)[row];
  for (const Table& rank : run.other_ranks) {
    const Table::Column& steps = rank.column("steps");
    const auto same = static_cast<size_t>(std::ranges::find(steps, step) - steps.begin());
    const Table::Column& values = rank.column(metric.name);
    if (same >= values.size() || !values[same]) return std::nullopt;
    sum += *values[same];
  }
  return metric.relative ? sum : sum / static_cast<double>(1 + run.other_ranks.size());
}

std::vector<Piece> windows(const RunFiles& run, const CompareMetric& metric) {
  const Table::Column& values = run.steps.column(metric.name);
  const Table::Column& ends = run.steps.column("wall_s");
  std::vector<Piece> result;
  for (size_t row = 1; row < values.size() && row < ends.size(); ++row) {
    if (!values[row] || !ends[row] || !ends[row - 1] || *ends[row] <= *ends[row - 1]) continue;
    const std::optional<double> value = of_all_ranks(run, metric, row);
    if (value) result.push_back({*value, *ends[row] - *ends[row - 1]});
  }
  return result;
}

std::vector<Piece> all_windows(const Runs& runs, const CompareMetric& metric) {
  std::vector<Piece> result;
  for (const RunFiles& run : runs) {
    const std::vector<Piece> own = windows(run, metric);
    result.insert(result.end(), own.begin(), own.end());
  }
  return result;
}

std::vector<double> means(const Runs& runs, const CompareMetric& metric) {
  std::vector<double> result;
  for (const RunFiles& run : runs) {
    const std::vector<Piece> own = windows(run, metric);
    if (!own.empty()) result.push_back(level(own));
  }
  return result;
}

// Pearson's correlation of neighbours. 0 if all are equal.
double autocorrelation(const std::vector<Piece>& pieces) {
  if (pieces.size() < 3) return 0;
  double mean = 0;
  for (const Piece& piece : pieces) mean += piece.value / static_cast<double>(pieces.size());
  double together = 0, whole = 0, before = 0;
  for (const Piece& piece : pieces) {
    const double apart = piece.value - mean;
    whole += apart * apart;
    together += apart * std::exchange(before, apart);
  }
  return whole > 0 ? together / whole : 0;
}

template <class T>
std::optional<MetricComparison> compare_samples(const std::vector<T>& a, const std::vector<T>& b,
                                                const CompareMetric& metric) {
  if (a.empty() || b.empty()) return std::nullopt;
  MetricComparison result;
  result.metric = metric;
  result.a = level(a);
  result.b = level(b);
  result.values_a = a.size();
  result.values_b = b.size();
  if (metric.relative && (result.a <= 0 || result.b <= 0)) return std::nullopt;
  result.difference = difference(a, b, metric.relative ? Differing::ratio : Differing::rest);
  const bool apart = result.difference.low > 0 || result.difference.high < 0;
  result.verdict = apart ? CompareVerdict::different : CompareVerdict::same;
  return result;
}

std::optional<MetricComparison> compare_one(const Runs& a, const Runs& b,
                                            const CompareMetric& metric, bool by_runs) {
  auto result = by_runs ? compare_samples(means(a, metric), means(b, metric), metric)
                        : compare_samples(all_windows(a, metric), all_windows(b, metric), metric);
  for (const Runs* side : {&a, &b}) {
    for (size_t i = 0; result && i < side->size(); ++i) {
      result->autocorrelation =
          std::max(result->autocorrelation, autocorrelation(windows((*side)[i], metric)));
    }
  }
  return result;
}

// The values of one condition, over the runs of a side: "cold", or "cold and warm".
template <class F>
std::string values_of(const Runs& runs, F value) {
  std::set<std::string> all;
  for (const RunFiles& run : runs) all.insert(value(run));
  return fmt::format("{}", fmt::join(all, " and "));
}

std::string text_at(const json& tree, const char* pointer) {
  const json value = tree.value(json::json_pointer(pointer), json());
  if (value.is_null()) return "unknown";
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

// The part of the configuration below `prefix`, without the keys of `but`.
std::string config_part(const RunFiles& run, const std::string& prefix, const std::string& but) {
  std::string text;
  for (const auto& [key, value] : config_leaves(run)) {
    if (key.starts_with(prefix) && key != but) {
      text += (text.empty() ? "" : ", ") + key.substr(prefix.size()) + " " + value;
    }
  }
  return text;
}

// Are the tiers that hold the data and the checkpoints emulated?
std::string tier_kinds(const RunFiles& run) {
  bool emulated = false;
  for (const json& tier : run.summary.value("tiers", json::object())) {
    emulated = emulated || tier.value("emulated", false);
  }
  return emulated ? "emulated" : "real";
}

template <class F>
void require_same(Comparison& out, const Runs& a, const Runs& b, const char* what, F value) {
  const std::string of_a = values_of(a, value);
  const std::string of_b = values_of(b, value);
  if (of_a == of_b) return;
  out.reasons.push_back(fmt::format("{}: {} against {}", what, of_a, of_b));
}

void check_conditions(Comparison& out, const Runs& a, const Runs& b) {
  for (const Runs* side : {&a, &b}) {
    for (const RunFiles& run : *side) {
      const std::string status = text_at(run.summary, "/status");
      if (status != "completed") {
        out.reasons.push_back(fmt::format("{} has not completed: it {}", run.directory,
                                          status == "stopped" ? "was stopped" : status));
      }
    }
  }
  require_same(out, a, b, "another device",
               [](const RunFiles& run) { return text_at(run.summary, "/device/name"); });
  require_same(out, a, b, "an emulated and a real device", [](const RunFiles& run) {
    return text_at(run.summary, "/device/emulated") == "true" ? "emulated" : "real";
  });
  require_same(out, a, b, "emulated and real storage", tier_kinds);
  require_same(out, a, b, "another data set",
               [](const RunFiles& run) { return config_part(run, "dataset.", "dataset.storage"); });
  require_same(out, a, b, "another model",
               [](const RunFiles& run) { return config_part(run, "model.", ""); });
  require_same(out, a, b, "another state of the page cache",
               [](const RunFiles& run) { return text_at(run.summary, "/conditions/page_cache"); });
}

// One value per side; those that differ between the sides.
std::vector<Difference> between_sides(const Runs& a, const Runs& b,
                                      Leaves (*read)(const RunFiles&)) {
  std::vector<Leaves> trees;
  for (const Runs* side : {&a, &b}) {
    for (const RunFiles& run : *side) trees.push_back(read(run));
  }
  std::vector<Difference> result;
  for (const Difference& one : differences(trees)) {
    std::vector<std::optional<std::string>> sides;
    for (const auto& [from, to] :
         {std::pair(size_t{0}, a.size()), std::pair(a.size(), trees.size())}) {
      std::set<std::string> values;
      for (size_t i = from; i < to; ++i) {
        if (one.values[i]) values.insert(*one.values[i]);
      }
      sides.push_back(values.empty() ? std::nullopt
                                     : std::optional(fmt::format("{}", fmt::join(values, ", "))));
    }
    if (sides[0] != sides[1]) result.push_back({one.key, sides});
  }
  return result;
}

std::string ranks_of(const RunFiles& run) { return std::to_string(1 + run.other_ranks.size()); }

void add_notes(Comparison& out, const Runs& a, const Runs& b) {
  if (out.metrics.empty()) return;
  const std::string ranks_a = values_of(a, ranks_of), ranks_b = values_of(b, ranks_of);
  if (ranks_a != "1" || ranks_b != "1") {
    out.notes.push_back(
        fmt::format("A ran on {} and B on {} ranks: rates are sums over them, shares are means",
                    ranks_a, ranks_b));
  }
  const MetricComparison& first = out.metrics.front();
  if (out.by_runs) {
    out.notes.push_back("a run counts once, by what its windows make together");
    return;
  }
  out.notes.push_back(fmt::format(
      "windows of a run are not independent runs (correlation of neighbours {:.2f}) and are drawn "
      "in blocks; what differs from run to run is not in the interval: for that give {} runs or "
      "more per side (--a, --b)",
      first.autocorrelation, kFewestRuns));
}

}  // namespace

const std::vector<CompareMetric>& compare_metrics() {
  static const std::vector<CompareMetric> kMetrics{
      {"images_per_s", true, true},
      {"io_share", false, false},
      {"device.idle_share", false, false},
      {"segments_share.h2d", false, false},
      {"segments_share.compute", false, true},
      {"segments_share.allreduce", false, false},
      {"segments_share.checkpoint_stall", false, false},
  };
  return kMetrics;
}

const CompareMetric& compare_metric(const std::string& name) {
  std::string known;
  for (const CompareMetric& metric : compare_metrics()) {
    if (metric.name == name) return metric;
    known += (known.empty() ? "" : ", ") + std::string(metric.name);
  }
  throw Error(ExitCode::config, "--metric: '" + name + "': expected one of " + known);
}

const char* to_string(CompareVerdict verdict) {
  constexpr std::array kNames{"same", "different", "not comparable"};
  return kNames[static_cast<size_t>(verdict)];
}

Comparison compare(const Runs& a, const Runs& b, const CompareMetric& metric) {
  Comparison out;
  for (const RunFiles& run : a) out.a.push_back(run.directory);
  for (const RunFiles& run : b) out.b.push_back(run.directory);
  out.by_runs = a.size() >= kFewestRuns && b.size() >= kFewestRuns;
  check_conditions(out, a, b);
  for (const Runs* side : {&a, &b}) {
    const size_t found = all_windows(*side, metric).size();
    if (found >= kFewestWindows) continue;
    out.reasons.push_back(fmt::format(
        "{} has {} windows of {} beside the first: {} are needed (lower metrics.every_steps)",
        side == &a ? "A" : "B", found, metric.name, kFewestWindows));
  }
  std::vector<CompareMetric> order{metric};
  for (const CompareMetric& other : compare_metrics()) {
    if (std::string(other.name) != metric.name) order.push_back(other);
  }
  for (const CompareMetric& one : order) {
    if (auto found = compare_one(a, b, one, out.by_runs)) out.metrics.push_back(*found);
  }
  const bool measured = !out.metrics.empty() && out.metrics.front().metric.name == metric.name;
  out.verdict = out.reasons.empty() && measured ? out.metrics.front().verdict
                                                : CompareVerdict::not_comparable;
  out.config = between_sides(a, b, config_leaves);
  out.environment = between_sides(a, b, environment_leaves);
  add_notes(out, a, b);
  return out;
}

bool misses(const Comparison& comparison, double threshold) {
  if (comparison.verdict == CompareVerdict::not_comparable) return true;
  const MetricComparison& first = comparison.metrics.front();
  return first.metric.more_is_better ? first.difference.high < -threshold
                                     : first.difference.low > threshold;
}

}  // namespace stoker
