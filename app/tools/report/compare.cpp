#include "app/tools/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "app/base/command_line.h"
#include "app/tools/report/course.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/metrics/verdict/evidence.h"

namespace stoker {
namespace {

using nlohmann::json;
using Runs = std::vector<RunFiles>;

constexpr size_t kFewestWindows = 5;
constexpr size_t kFewestRuns = 3;

// The courses of all figures in a run, as compare_metrics() has them.
using Courses = std::vector<Course>;

std::vector<Courses> followed(const Runs& runs) {
  std::vector<FollowedFigure> figures;
  for (const CompareMetric& metric : compare_metrics()) {
    figures.push_back({metric.name, metric.relative});  // rates are summed
  }
  std::vector<Courses> result;
  for (const RunFiles& run : runs) {
    result.push_back(courses_of(directories_of_ranks(run.directory), figures));
  }
  return result;
}

// A figure in the runs of one side.
class Sample {
 public:
  Sample(const std::vector<Courses>& runs, const CompareMetric& metric) {
    const auto is = [&metric](const CompareMetric& each) {
      return std::string(each.name) == metric.name;
    };
    const auto place = std::ranges::find_if(compare_metrics(), is) - compare_metrics().begin();
    for (const Courses& run : runs) courses_.push_back(&run[static_cast<size_t>(place)]);
  }
  size_t windows() const {
    size_t sum = 0;
    for (const Course* course : courses_) sum += course->windows();
    return sum;
  }
  std::vector<Piece> pieces() const {
    std::vector<Piece> all;
    for (const Course* course : courses_) {
      const std::vector<Piece> own = course->pieces();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  // One for each run that has windows.
  std::vector<double> means() const {
    std::vector<double> result;
    for (const Course* course : courses_) {
      if (course->windows() > 0) result.push_back(level(course->pieces()));
    }
    return result;
  }
  double autocorrelation() const {
    double most = 0;
    for (const Course* course : courses_) most = std::max(most, course->autocorrelation());
    return most;
  }

 private:
  std::vector<const Course*> courses_;
};

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
  const bool sure = result.difference.low > 0 || result.difference.high < 0;
  const bool apart = sure && std::abs(result.difference.value) >= metric.least();
  result.verdict = apart ? CompareVerdict::different : CompareVerdict::same;
  return result;
}

std::optional<MetricComparison> compare_one(const Sample& a, const Sample& b,
                                            const CompareMetric& metric, bool by_runs) {
  auto result = by_runs ? compare_samples(a.means(), b.means(), metric)
                        : compare_samples(a.pieces(), b.pieces(), metric);
  if (!result) return result;
  if (!by_runs) {
    result->values_a = a.windows();
    result->values_b = b.windows();
  }
  result->autocorrelation = std::max(a.autocorrelation(), b.autocorrelation());
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

// A read of an emulated tier takes as long as its model says, wherever its bytes were, unless the
// emulation was too slow.
std::string cache_state(const RunFiles& run) {
  const Leaves config = config_leaves(run);
  const auto name = config.find("dataset.storage");
  const json tiers = run.summary.value("tiers", json::object());
  if (name != config.end() && tiers.contains(name->second)) {
    const json& tier = tiers.at(name->second);
    if (tier.value("emulated", false) && number_at(tier, "overruns").value_or(0) == 0) {
      return "of no effect";
    }
  }
  return text_at(run.summary, "/conditions/page_cache");
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
  for (const Runs* side : {&a, &b}) {
    for (const RunFiles& run : *side) {
      const Evidence e = gather(record_of(run), Node::map());
      if (e.strangers <= 0) continue;
      out.reasons.push_back(fmt::format("{} shared the emulated tier '{}' with {} of other runs",
                                        run.directory, e.shared_tier,
                                        plural(counted(e.strangers), "process")));
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
  require_same(out, a, b, "another state of the page cache", cache_state);
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

std::string ranks_of(const RunFiles& run) {
  return std::to_string(directories_of_ranks(run.directory).size());
}

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
      {"exposed_io_share", false, false},
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
  const std::vector<Courses> courses_a = followed(a), courses_b = followed(b);
  for (const std::vector<Courses>* side : {&courses_a, &courses_b}) {
    const size_t found = Sample(*side, metric).windows();
    if (found >= kFewestWindows) continue;
    out.reasons.push_back(fmt::format(
        "{} has {} windows of {} beside the first: {} are needed (lower metrics.every_steps)",
        side == &courses_a ? "A" : "B", found, metric.name, kFewestWindows));
  }
  std::vector<CompareMetric> order{metric};
  for (const CompareMetric& other : compare_metrics()) {
    if (std::string(other.name) != metric.name) order.push_back(other);
  }
  for (const CompareMetric& one : order) {
    const Sample of_a(courses_a, one), of_b(courses_b, one);
    if (auto found = compare_one(of_a, of_b, one, out.by_runs)) out.metrics.push_back(*found);
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
