#include <gtest/gtest.h>

#include "app/base/result_table.h"

namespace stoker {
namespace {

TEST(Statistics, spread_of_odd_and_even_numbers) {
  const Spread odd = spread({3, 1, 2});
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(spread({4, 1, 2, 3}).median, 2.5);
}

TEST(Statistics, rounds_that_do_not_agree_are_remarked_on) {
  EXPECT_EQ(rounds_differ(spread({100, 110, 125})), "");
  EXPECT_EQ(rounds_differ(spread({100, 110, 221})).find("its rounds differ by 121 %"), 0u);
  EXPECT_EQ(rounds_differ(spread({100, 221}), 1.3), "");
}

}  // namespace
}  // namespace stoker
