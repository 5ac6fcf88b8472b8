#include <cmath>

#include "app/tools/report/bootstrap.h"
#include "app/tools/report/report.h"
#include "app/tools/report/table.h"
#include "io/core/text/json.h"
#include "tests/fuzz/target.h"

// steps.csv and timeline.csv, and what is made of their columns.
STOKER_FUZZ_TARGET(table) {
  using namespace stoker;
  const Table table = Table::parse(fuzz::text(input), "steps.csv");
  (void)json_text(thinned(table, 3));
  std::vector<Piece> pieces;
  for (const std::string& name : table.names()) {
    for (const auto& value : table.column(name)) {
      fuzz::require(!value || std::isfinite(*value), "a number that is none");
      if (value) pieces.push_back({*value, 1 + std::abs(*value)});
    }
  }
  if (!pieces.empty()) (void)difference(pieces, pieces, Differing::ratio, 3);
}
