#include "app/sweep/plots.h"

#include <nlohmann/json.hpp>

#include "app/json.h"
#include "app/statistics.h"

namespace stoker {
namespace {

using nlohmann::json;

std::string series_name(const PlotOptions& plot, const Coordinates& cell) {
  std::string name;
  for (const std::string& axis : plot.series.names) {
    name += (name.empty() ? "" : ", ") + cell.at(axis);
  }
  return name;
}

// The values of a cell, as the plot shows them.
std::vector<double> plotted(const SweepOptions& options, const PlotOptions& plot,
                            const SweepResults& results, const Coordinates& cell) {
  std::vector<double> own = values(options, results, cell, plot.y);
  if (plot.relative_to.empty()) return own;
  Coordinates reference = cell;
  for (const CellPattern::Term& term : plot.relative_to.terms) {
    reference[term.axis] = term.names.front();
  }
  const std::vector<double> base = values(options, results, reference, plot.y);
  const double whole = base.empty() ? 0 : spread(base).median;
  if (whole == 0) return {};
  for (double& value : own) value /= whole;
  return own;
}

json& series_of(json& data, const std::string& name) {
  for (json& one : data) {
    if (one["series"] == name) return one["points"];
  }
  data.push_back({{"series", name}, {"points", json::array()}});
  return data.back()["points"];
}

}  // namespace

json plot_json(const SweepOptions& options, const PlotOptions& plot, const SweepPlan& plan,
               const SweepResults& results) {
  json value = to_json(dump_struct(plot));
  value["data"] = json::array();
  for (const SweepCell& cell : plan.cells) {
    if (!plot.where.matches(cell.at)) continue;
    const std::vector<double> found = plotted(options, plot, results, cell.at);
    if (found.empty()) continue;
    const Spread s = spread(found);
    series_of(value["data"], series_name(plot, cell.at))
        .push_back({{"x", to_json(Node::text(cell.at.at(plot.x)))},
                    {"median", s.median},
                    {"min", s.min},
                    {"max", s.max},
                    {"n", found.size()},
                    {"values", found}});
  }
  return value;
}

}  // namespace stoker
