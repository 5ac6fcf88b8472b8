#include "app/tools/sweep/plots.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/tools/report/table.h"
#include "io/core/text/json.h"

namespace stoker {
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
