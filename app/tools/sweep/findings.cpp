#include "app/tools/sweep/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/tools/report/table.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Medians, minima and maxima of the cells a statement is about.
class Judge {
 public:
  Judge(const SweepOptions& options, const SweepPlan& plan, const SweepResults& results)
      : options_(options), plan_(plan), results_(results) {}

  std::optional<Interval> measure(const FindingOptions& finding) const {
    if (finding.kind() == "spread") return spread_among(finding);
    const std::optional<Interval> of = value_of(finding, finding.of);
    if (!of || finding.over.empty()) return of;
    const std::optional<Interval> over = value_of(finding, finding.over);
    if (!over || over->value <= 0) return std::nullopt;
    // Differences with the cost of nothing may be 0 or less within the noise: then no bound is
    // known.
    const double high = over->low > 0 ? of->high / over->low : kUnbounded;
    const double low = of->low > 0 ? of->low / over->high : -kUnbounded;
    return Interval{of->value / over->value, low, high};
  }

 private:
  // The value of the first cell that matches.
  std::optional<Interval> value_of(const FindingOptions& finding,
                                   const CellPattern& pattern) const {
    const auto cell = std::ranges::find_if(
        plan_.cells, [&](const SweepCell& each) { return pattern.matches(each.at); });
    return cell == plan_.cells.end() ? std::nullopt : net(finding, cell->at);
  }

  // Subtracts the cost of `less`.
  std::optional<Interval> net(const FindingOptions& finding, const Coordinates& cell) const {
    const std::optional<Interval> own = gross(finding, cell);
    if (!own || finding.less.empty()) return own;
    const auto less = std::ranges::find_if(
        plan_.cells, [&](const SweepCell& each) { return finding.less.matches(each.at); });
    if (less == plan_.cells.end()) return std::nullopt;
    const std::optional<Interval> base = gross(finding, less->at);
    if (!base) return std::nullopt;
    return Interval{own->value - base->value, own->low - base->high, own->high - base->low};
  }

  std::optional<Interval> gross(const FindingOptions& finding, const Coordinates& cell) const {
    const std::vector<double> found = values(options_, results_, cell, finding.value);
    if (found.empty()) return std::nullopt;
    const Spread s = spread(found);
    return Interval{s.median, s.min, s.max};
  }

  std::optional<Interval> spread_among(const FindingOptions& finding) const {
    std::vector<Interval> cells;
    for (const SweepCell& cell : plan_.cells) {
      if (!finding.among.matches(cell.at)) continue;
      const std::optional<Interval> value = net(finding, cell.at);
      if (!value || value->low <= 0) return std::nullopt;
      cells.push_back(*value);
    }
    if (cells.size() < 2) return std::nullopt;
    const auto ratio = [&](double Interval::*top, double Interval::*bottom) {
      const auto most = std::ranges::max_element(cells, {}, top);
      const auto least = std::ranges::min_element(cells, {}, bottom);
      return (*most).*top / (*least).*bottom - 1;
    };
    // The least spread that the repetitions allow: every cell as near to the others as it got.
    const double least = std::max(0.0, std::ranges::max(cells, {}, &Interval::low).low /
                                               std::ranges::min(cells, {}, &Interval::high).high -
                                           1);
    return Interval{ratio(&Interval::value, &Interval::value), least,
                    ratio(&Interval::high, &Interval::low)};
  }

  const SweepOptions& options_;
  const SweepPlan& plan_;
  const SweepResults& results_;
};

FindingVerdict verdict(const SweepFinding& finding, double measured) {
  const FindingOptions& statement = finding.statement;
  if (finding.how == FigureOrigin::put_in) return FindingVerdict::put_in;
  bool holds = true;
  if (statement.published && statement.tolerance) {
    const double room = std::abs(*statement.published) * statement.tolerance->value;
    holds = std::abs(measured - *statement.published) <= room;
  }
  if (statement.at_most) holds = holds && measured <= *statement.at_most;
  if (statement.at_least) holds = holds && measured >= *statement.at_least;
  return holds ? FindingVerdict::within : FindingVerdict::outside;
}

}  // namespace

const char* to_string(FindingVerdict verdict) {
  // In the order of FindingVerdict.
  constexpr const char* kNames[] = {"within", "outside", "put in", "not measured",
                                    "shortened, not judged"};
  return kNames[static_cast<size_t>(verdict)];
}

std::vector<SweepFinding> judge(const SweepOptions& options, const SweepPlan& plan,
                                const SweepResults& results) {
  const Judge judge(options, plan, results);
  std::vector<SweepFinding> findings;
  for (const FindingOptions& statement : options.findings) {
    SweepFinding finding{statement, judge.measure(statement), options.how(statement),
                         FindingVerdict::not_measured};
    finding.statement.note =
        filled_note(statement.note, options, plan, results, [&](const Coordinates& cell) {
          return std::ranges::any_of(
              std::array{&statement.of, &statement.over, &statement.among},
              [&](const CellPattern* cells) { return !cells->empty() && cells->matches(cell); });
        });
    if (finding.measured) {
      const bool judged = !options.shortened || finding.how == FigureOrigin::put_in ||
                          finding.how == FigureOrigin::simulated;
      finding.verdict =
          judged ? verdict(finding, finding.measured->value) : FindingVerdict::shortened;
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

nlohmann::json finding_json(const SweepFinding& finding) {
  nlohmann::json value = to_json(dump_struct(finding.statement));
  std::erase_if(value.get_ref<nlohmann::json::object_t&>(),
                [](const auto& entry) { return entry.second == ""; });
  value["kind"] = finding.statement.kind();
  value["how"] = to_json(Field<FigureOrigin>::dump(finding.how));
  value["verdict"] = to_string(finding.verdict);
  if (finding.statement.tolerance) value["tolerance"] = finding.statement.tolerance->value;
  if (finding.measured) {
    value["measured"] = finding.measured->value;
    if (std::isfinite(finding.measured->low)) value["low"] = finding.measured->low;
    if (std::isfinite(finding.measured->high)) value["high"] = finding.measured->high;
  }
  return value;
}

namespace {

using nlohmann::json;

// The values of a cell on the axes of the series.
std::vector<std::string> series_values(const PlotOptions& plot, const Coordinates& cell) {
  std::vector<std::string> values;
  for (const Word& axis : plot.series.names) values.push_back(cell.at(axis.text));
  return values;
}

// The values of a cell, as the plot shows them.
std::vector<double> plotted(const SweepOptions& options, const PlotOptions& plot,
                            const SweepResults& results, const Coordinates& cell) {
  std::vector<double> own = values(options, results, cell, plot.y);
  if (plot.relative_to.empty()) return own;
  Coordinates reference = cell;
  for (const CellPattern::Term& term : plot.relative_to.terms) {
    reference[term.axis.text] = term.names.front().text;
  }
  const std::vector<double> base = values(options, results, reference, plot.y);
  const double whole = base.empty() ? 0 : spread(base).median;
  if (whole == 0) return {};
  for (double& value : own) value /= whole;
  return own;
}

json& series_of(json& data, const std::string& name, const std::vector<std::string>& of) {
  for (json& one : data) {
    if (one["series"] == name) return one["points"];
  }
  data.push_back({{"series", name}, {"of", of}, {"points", json::array()}});
  return data.back()["points"];
}

json point(const json& x, const std::vector<double>& found) {
  const Spread s = spread(found);
  return {{"x", x},       {"median", s.median}, {"min", s.min},
          {"max", s.max}, {"n", found.size()},  {"values", found}};
}

// The course of the first run of the cell that counts.
json course(const SweepOptions& options, const PlotOptions& plot, const SweepResults& results,
            const Coordinates& cell, const std::string& directory) {
  json points = json::array();
  for (int64_t repeat = options.drop_first ? 1 : 0; repeat < options.repeat; ++repeat) {
    const SweepRow* row = results.find(cell, repeat);
    if (row == nullptr || !row->ok() || row->directory.empty()) continue;
    const Table table = Table::read(directory + "/" + row->directory + "/timeline.csv");
    const Table::Column& time = table.column("elapsed_s");
    const Table::Column& value = table.column(plot.y);
    for (size_t i = 0; i < std::min(time.size(), value.size()); ++i) {
      // Thousands of these, so without what is the same in all.
      if (time[i] && value[i]) points.push_back({{"x", *time[i]}, {"median", *value[i]}, {"n", 1}});
    }
    break;
  }
  return points;
}

// What plots are drawn of where nobody has said it.
std::vector<std::string> measured(const SweepOptions& options, const SweepResults& results) {
  const std::vector<std::string> known = columns(options, results);
  std::vector<std::string> chosen;
  for (const char* name : {"images_per_s", "device.idle_share"}) {
    if (std::ranges::find(known, name) != known.end()) chosen.emplace_back(name);
  }
  if (chosen.empty() && !known.empty()) chosen.push_back(known.front());
  return chosen;
}

}  // namespace

std::vector<PlotOptions> plots_of(const SweepOptions& options, const SweepResults& results) {
  if (!options.plots.empty()) return options.plots;
  std::vector<PlotOptions> plots;
  for (const std::string& figure : measured(options, results)) {
    for (const SweepAxis& axis : options.matrix.axes) {
      if (axis.values.size() < 2) continue;
      PlotOptions plot;
      plot.title = figure + " by " + axis.key;
      plot.x = axis.key;
      plot.y = figure;
      for (const SweepAxis& other : options.matrix.axes) {
        const bool varied = other.key != axis.key && other.values.size() > 1;
        if (varied) plot.series.names.emplace_back(other.key);
      }
      plots.push_back(std::move(plot));
    }
  }
  return plots;
}

json plot_json(const SweepOptions& options, const PlotOptions& plot, const SweepPlan& plan,
               const SweepResults& results, const std::string& directory) {
  json value = to_json(dump_struct(plot));
  value["data"] = json::array();
  value["note"] = filled_note(plot.note, options, plan, results,
                              [&](const Coordinates& cell) { return plot.where.matches(cell); });
  for (const SweepCell& cell : plan.cells) {
    if (!plot.where.matches(cell.at)) continue;
    const std::vector<std::string> of = series_values(plot, cell.at);
    const std::string name = fmt::format("{}", fmt::join(of, ", "));
    if (plot.x == kTime) {
      const json points = course(options, plot, results, cell.at, directory);
      if (!points.empty()) series_of(value["data"], name, of) = points;
      continue;
    }
    for (const std::string& part : plot.stack) {
      const std::vector<double> found = values(options, results, cell.at, plot.y + "." + part);
      if (found.empty()) continue;
      series_of(value["data"], part, {part})
          .push_back(point(to_json(Node::text(cell.at.at(plot.x))), found));
    }
    if (!plot.stack.empty()) continue;
    const std::vector<double> found = plotted(options, plot, results, cell.at);
    if (found.empty()) continue;
    series_of(value["data"], name, of)
        .push_back(point(to_json(Node::text(cell.at.at(plot.x))), found));
  }
  return value;
}

}  // namespace stoker
