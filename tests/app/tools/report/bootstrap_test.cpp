#include "app/tools/report/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stoker {
namespace {

Interval relative(const std::vector<double>& a, const std::vector<double>& b) {
  return difference(a, b, Differing::ratio);
}

std::vector<double> normal(double mean, double deviation, int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> draw(mean, deviation);
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(draw(random));
  return values;
}

TEST(Bootstrap, the_interval_of_equal_samples_is_nothing_around_zero) {
  const Interval same = relative({3, 3, 3}, {3, 3, 3});
  EXPECT_EQ(same.value, 0);
  EXPECT_EQ(same.low, 0);
  EXPECT_EQ(same.high, 0);
}

TEST(Bootstrap, a_real_difference_lies_in_an_interval_that_leaves_out_zero) {
  const Interval found = relative(normal(100, 5, 50, 1), normal(120, 5, 50, 2));
  EXPECT_NEAR(found.value, 0.2, 0.03);
  EXPECT_LT(found.low, found.value);
  EXPECT_GT(found.high, found.value);
  EXPECT_GT(found.low, 0.1);
}

// 95 % of the intervals of samples of one distribution hold zero; a median's are a little wider.
TEST(Bootstrap, intervals_hold_the_truth_as_often_as_they_say) {
  int held = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const Interval found = difference(normal(100, 10, 30, 2 * i + 1),
                                      normal(100, 10, 30, 2 * i + 2), Differing::ratio, 400, i);
    held += found.low <= 0 && found.high >= 0;
  }
  EXPECT_GE(held, 180);
}

TEST(Bootstrap, shares_are_subtracted) {
  const Interval found =
      difference(std::vector<double>{0, 0, 0}, {0.25, 0.25, 0.25}, Differing::rest);
  EXPECT_EQ(found.value, 0.25);
  EXPECT_EQ(found.low, 0.25);
  EXPECT_EQ(found.high, 0.25);
}

TEST(Bootstrap, pieces_count_by_their_length) {
  EXPECT_DOUBLE_EQ(level(std::vector<Piece>{{100, 1}, {0, 3}}), 25);
  EXPECT_DOUBLE_EQ(
      difference(std::vector<Piece>{{100, 1}, {0, 3}}, {{50, 2}}, Differing::ratio).value, 1);
  EXPECT_DOUBLE_EQ(difference(std::vector<Piece>{{0.5, 2}}, {{0.25, 1}}, Differing::rest).value,
                   -0.25);
}

// Neighbours that resemble each other tell less than as many independent values.
TEST(Bootstrap, blocks_widen_the_interval_of_a_slow_wave) {
  std::vector<Piece> wave;
  for (int i = 0; i < 64; ++i) {
    wave.push_back({i % 16 < 8 ? 90.0 : 110.0, 1});
  }
  std::vector<Piece> shuffled = wave;
  std::ranges::shuffle(shuffled, std::mt19937_64(3));
  const auto width = [](const Interval& found) { return found.high - found.low; };
  EXPECT_GT(width(difference(wave, wave, Differing::ratio)),
            1.3 * width(difference(shuffled, shuffled, Differing::ratio)));
}

TEST(Bootstrap, is_a_function_of_its_arguments) {
  const auto a = normal(10, 2, 20, 1), b = normal(11, 2, 20, 2);
  const Interval first = relative(a, b), again = relative(a, b);
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.high, again.high);
}

}  // namespace
}  // namespace stoker
