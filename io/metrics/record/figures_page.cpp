#include <fmt/format.h>

#include "io/metrics/record/figures.h"

namespace stoker {

std::string figures_page() {
  std::string page =
      "# Figures\n\n"
      "Every number that is known of a run. Made by `stoker list --figures`; a test holds it equal "
      "to what the program says.\n\n"
      "The name is the place in `summary.json` and `/api/status`, the column of `steps.csv` and "
      "`timeline.csv`, and with slashes the tag in TensorBoard; labels stand in braces. In "
      "`/metrics` it is written out by a rule: prefix, unit, `_total` for counters.\n\n"
      "A counter only grows; a gauge is what holds now. A quotient divides two sums: of the "
      "whole run, or, in a row of `steps.csv` and `timeline.csv`, of the time since the row before. "
      "`/metrics` has only the sums; a query divides them. "
      "What was not measured is absent, never 0.\n\n"
      "| figure | kind, unit | what it is | how it is measured | `/metrics` |\n"
      "|---|---|---|---|---|\n";
  for (const Figure& figure : figures()) {
    std::string exported = prometheus_name(figure);
    if (!exported.empty()) exported = fmt::format("`{}`", exported);
    const std::string unit = to_string(figure.unit);
    page +=
        fmt::format("| `{}`{} | {}{} | {} | {} | {} |\n", figure.name,
                    figure.in_summary ? "" : " (`/metrics` only)", to_string(figure.kind),
                    unit.empty() ? "" : ", " + unit, figure.definition, figure.measured, exported);
  }
  return page;
}

}  // namespace stoker
