#include "io/storage/tail/read_times.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace stoker {
namespace {

using namespace std::chrono_literals;

// 1 to 100 ms, again and again.
void add_hundreds(ReadTimes& times, int hundreds, Range range = {}, int factor = 1) {
  for (int i = 0; i < 100 * hundreds; ++i) {
    times.add(range, std::chrono::milliseconds(factor * (i % 100 + 1)));
  }
}

TEST(ReadTimesOf, nothing_is_known_of_few_reads) {
  ReadTimes times(0.95);
  for (int i = 0; i < 63; ++i) times.add({}, 1ms);
  EXPECT_FALSE(times.limit({}));
  times.add({}, 1ms);
  EXPECT_TRUE(times.limit({}));
  ReadTimes rare(0.999);
  add_hundreds(rare, 19);
  EXPECT_FALSE(rare.limit({})) << "one of 1000 was seen twice at least";
  add_hundreds(rare, 2);
  EXPECT_TRUE(rare.limit({}));
}

TEST(ReadTimesOf, the_limit_is_the_quantile_rounded_up_to_an_eighth) {
  for (const auto& [quantile, expected] : {std::pair(0.5, 50ms), {0.95, 95ms}, {0.99, 99ms}}) {
    ReadTimes times(quantile);
    add_hundreds(times, 30);
    EXPECT_GE(*times.limit({}), expected);
    EXPECT_LE(*times.limit({}), expected * 9 / 8);
  }
}

TEST(ReadTimesOf, each_size_has_its_own) {
  ReadTimes times(0.5);
  add_hundreds(times, 1, {0, 1000});
  add_hundreds(times, 1, {7, 1 << 20}, 10);
  EXPECT_LT(*times.limit({5, 1001}), 60ms);
  EXPECT_GT(*times.limit({0, 1 << 20}), 490ms);
  EXPECT_FALSE(times.limit({})) << "whole objects";
}

TEST(ReadTimesOf, older_reads_are_forgotten) {
  ReadTimes times(0.5);
  add_hundreds(times, 100, {}, 10);
  EXPECT_GT(*times.limit({}), 490ms);
  add_hundreds(times, 100);
  EXPECT_LT(*times.limit({}), 110ms);
}

TEST(ReadTimesOf, any_time_has_a_place) {
  ReadTimes times(0.5);
  for (int i = 0; i < 64; ++i) times.add({}, i % 2 == 0 ? Clock::duration(0) : 24h);
  EXPECT_LE(*times.limit({}), 2us);
}

TEST(ReadTimesOf, many_threads_may_add_at_once) {
  ReadTimes times(0.5);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&times] { add_hundreds(times, 20); });
  threads.clear();
  EXPECT_GE(*times.limit({}), 45ms);
  EXPECT_LE(*times.limit({}), 64ms);
}

}  // namespace
}  // namespace stoker
