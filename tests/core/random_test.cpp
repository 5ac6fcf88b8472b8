#include "io/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

namespace stoker {
namespace {

TEST(Random, is_splitmix64) {
  // The first numbers of the reference implementation for the seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, below_gives_every_number_equally_often) {
  Random random(1);
  std::vector<int> counts(7);
  for (int i = 0; i < 700'000; ++i) ++counts[random.below(7)];
  for (int count : counts) EXPECT_NEAR(count, 100'000, 1500);
}

TEST(Random, below_is_in_range_for_every_n) {
  Random random(1);
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t n = uint64_t{1} << bit | (uint64_t{1} << bit) / 3;
    for (int i = 0; i < 100; ++i) ASSERT_LT(random.below(n), n);
  }
  EXPECT_EQ(Random(5).below(1), 0u);
}

TEST(Random, uniform_fills_its_interval) {
  Random random(1);
  double sum = 0, smallest = 10, largest = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.uniform(2, 4);
    ASSERT_TRUE(value >= 2 && value < 4);
    sum += value;
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
  }
  EXPECT_NEAR(sum / 100'000, 3, 0.01);
  EXPECT_NEAR(smallest, 2, 0.001);
  EXPECT_NEAR(largest, 4, 0.001);
}

TEST(Random, mix_depends_on_every_number_its_place_and_how_many_there_are) {
  const std::set<uint64_t> different{mix(0),       mix(1),       mix(0, 0),    mix(0, 1),
                                     mix(1, 0),    mix(1, 1),    mix(0, 0, 0), mix(0, 0, 1),
                                     mix(0, 1, 0), mix(1, 0, 0), mix(2),       mix(0, 2)};
  EXPECT_EQ(different.size(), 12u);
  static_assert(mix(1, 2, 3) == mix(1, 2, 3));
}

TEST(Random, seeds_of_neighbours_differ_in_half_of_their_bits) {
  double bits = 0;
  for (uint64_t index = 0; index < 10'000; ++index) {
    bits += std::popcount(mix(1, 0, index) ^ mix(1, 0, index + 1));
  }
  EXPECT_NEAR(bits / 10'000, 32, 0.2);
}

}  // namespace
}  // namespace stoker
