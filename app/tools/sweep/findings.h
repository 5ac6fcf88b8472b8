#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/report/bootstrap.h"
#include "app/tools/sweep/results.h"

namespace stoker {

// within, outside: the value is within or outside the limits that the statement names. put_in: the
// figure was put into the emulation, so it is no finding. not_measured: a cell that it needs has no
// value. shortened: only the short form was run, which changes whatever is measured or calculated.
enum class FindingVerdict { within, outside, put_in, not_measured, shortened };
// "within", "outside", "put in", "not measured", "shortened, not judged". Static text; any thread.
const char* to_string(FindingVerdict verdict);

// A statement and what came of it.
struct SweepFinding {
  FindingOptions statement;
  // From the medians of the repetitions; low and high are the least and the most that their
  // minima and maxima allow.
  std::optional<Interval> measured;
  FigureOrigin how = FigureOrigin::measured;
  FindingVerdict verdict = FindingVerdict::not_measured;
};

// All findings of the sweep in the order of its file, for one may refer to the one before. A pure
// function; any thread. A statement about something that was fitted is "put in", whatever was
// measured.
std::vector<SweepFinding> judge(const SweepOptions& options, const SweepPlan& plan,
                                const SweepResults& results);

// The statement as it was written, without empty texts, and "kind", "verdict", "measured", "low",
// "high" as far as they are known, and "how". A pure function; any thread.
nlohmann::json finding_json(const SweepFinding& finding);

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
