#include <gmock/gmock.h>

#include <array>
#include <initializer_list>

#include "io/profiler/counters/arena.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;

class CommonValuesTest : public ::testing::Test {
 protected:
  void count(std::initializer_list<int64_t> some) {
    for (const int64_t value : some) values.count(value, arena);
  }
  std::array<int64_t, 8> written() const {
    std::array<int64_t, 8> counters;
    values.write(counters);
    return counters;
  }
  Arena arena{1 << 16};
  CommonValues values;
};

TEST_F(CommonValuesTest, the_most_frequent_come_first) {
  count({10, 20, 20, 30, 30, 30});
  EXPECT_THAT(written(), ElementsAre(30, 20, 10, 0, 3, 2, 1, 0));
}

TEST_F(CommonValuesTest, of_equals_the_larger_comes_first) {
  count({10, 30, 20, 40, 50});
  EXPECT_THAT(written(), ElementsAre(50, 40, 30, 20, 1, 1, 1, 1));
  count({10});
  EXPECT_THAT(written(), ElementsAre(10, 50, 40, 30, 2, 1, 1, 1));
}

TEST_F(CommonValuesTest, zero_is_never_among_them) {
  count({0, 0, 0, 7});
  EXPECT_THAT(written(), ElementsAre(7, 0, 0, 0, 1, 0, 0, 0));
}

TEST_F(CommonValuesTest, the_first_32_different_ones_are_counted) {
  for (int64_t value = 1; value <= 32; ++value) count({value});
  count({1000, 1000, 1000, 5, 5});
  EXPECT_THAT(written(), ElementsAre(5, 32, 31, 30, 3, 1, 1, 1));
}

TEST_F(CommonValuesTest, zero_is_one_of_the_32) {
  count({0});
  for (int64_t value = 1; value <= 32; ++value) count({value, value});
  EXPECT_THAT(written(), ElementsAre(31, 30, 29, 28, 2, 2, 2, 2));
}

TEST_F(CommonValuesTest, without_memory_four_are_counted) {
  Arena none(0);
  for (const int64_t value : {1, 2, 3, 4, 5, 5, 4}) values.count(value, none);
  EXPECT_THAT(written(), ElementsAre(4, 3, 2, 1, 2, 1, 1, 1));
}

}  // namespace
}  // namespace stoker
