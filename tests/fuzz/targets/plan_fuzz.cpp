#include <nlohmann/json.hpp>

#include "io/storage/cached/plan_file.h"
#include "tests/fuzz/target.h"

// A plan that is read names objects inside its tier, and is written and read again as the same.
STOKER_FUZZ_TARGET(plan) {
  using namespace stoker;
  const StagingPlan plan = parse_plan(fuzz::text(input));
  uint64_t bytes = 0;
  for (const ObjectInfo& object : plan.objects) {
    check_key(object.key);
    bytes += object.bytes;
  }
  fuzz::require(bytes == plan.bytes, "a plan's bytes are not those of its objects");
  const std::string written = plan_json(plan, {});
  fuzz::require(plan_json(parse_plan(written), {}) == written,
                "a plan changes when it is read again");
}
