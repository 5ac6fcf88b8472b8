#include <cmath>
#include <sstream>

#include "app/tools/report/trace_figures.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(trace) {
  using namespace stoker;
  std::istringstream trace{std::string(fuzz::text(input))};
  const TraceFigures figures = trace_figures(trace, "trace.json");
  const double wall_s = figures.values.at("wall_s");
  fuzz::require(wall_s >= 0 && std::isfinite(wall_s), "a wall time that there is not");
}
