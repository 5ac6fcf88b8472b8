#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "app/tools/sweep/results.h"

namespace stoker {

// The plots of the file. Where it has none, the rate and the device's idle share, or what else the
// runs are known by, against each axis of more than one value, with a line for each value of the
// other axes. Any thread.
std::vector<PlotOptions> plots_of(const SweepOptions& options, const SweepResults& results);

// A plot as it was described, and "data": for each series in the order of its axes {"series": name,
// "of": its values on these axes, "points": [{"x", "median", "min", "max", "n", "values"}]}. x is a
// number where its name is one. A part of a stack is a series. A cell without a value has no point.
// Run directories are relative to `directory`. With x: time the points are the rows of one run's
// timeline.csv; Error where that cannot be read. Any thread.
nlohmann::json plot_json(const SweepOptions& options, const PlotOptions& plot,
                         const SweepPlan& plan, const SweepResults& results,
                         const std::string& directory);

}  // namespace stoker
