#pragma once

#include <string>

#include "app/tools/sweep/results.h"

namespace stoker {

// For people: a table of cells and main figures (median, and minimum to maximum), the findings with
// their verdicts, what failed, and the conditions. Ends with a line break. A pure function; any
// thread.
std::string results_text(const SweepOptions& options, const SweepPlan& plan,
                         const SweepResults& results);

// What would be run: a line for each cell and their number.
std::string plan_text(const SweepOptions& options, const SweepPlan& plan);

}  // namespace stoker
