#include <gtest/gtest.h>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

TEST(Tiers, are_found_by_name) {
  Tiers tiers;
  tiers.add("data", make_storage("{type: memory}"));
  tiers.add("fast", make_storage("{type: memory}"));
  put(tiers.at("data"), "key", "value");
  EXPECT_EQ(listing(tiers.at("data")), "key=5");
  EXPECT_EQ(listing(tiers.at("fast")), "");
}

TEST(Tiers, an_unknown_name_suggests) {
  Tiers tiers;
  tiers.add("data", make_storage("{type: memory}"));
  tiers.add("fast", make_storage("{type: memory}"));
  EXPECT_EQ(error_of([&] { tiers.at("date"); }),
            "unknown storage tier 'date' (did you mean 'data'?)");
  EXPECT_EQ(error_of([&] { tiers.at("elsewhere"); }),
            "unknown storage tier 'elsewhere' (known: data, fast)");
}

}  // namespace
}  // namespace stoker
