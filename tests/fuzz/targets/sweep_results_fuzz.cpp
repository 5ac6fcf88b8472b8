#include "app/tools/sweep/results.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(sweep_results) {
  using namespace stoker;
  (void)results_csv({}, parse_results(fuzz::text(input), "results.json"));
}
