#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "io/metrics/thread_slots.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;

// Times are kept in units of 64 ns.
constexpr auto kUnit = 64ns;

struct Busy : testing::Test {
  BusyClock clock;
  TimePoint start = Clock::now();
  Clock::duration total(Clock::duration after) { return clock.total(start + after); }
};

TEST_F(Busy, nothing_is_no_time) { EXPECT_EQ(total(1s), 0s); }

TEST_F(Busy, times_that_overlap_count_once) {
  clock.begin(start);
  clock.begin(start + 10ms);
  clock.end(start + 20ms);
  clock.end(start + 50ms);
  clock.begin(start + 70ms);
  clock.end(start + 80ms);
  EXPECT_NEAR((total(1s) - 60ms).count(), 0, 2 * kUnit.count());
}

TEST_F(Busy, what_is_going_on_counts) {
  clock.begin(start);
  EXPECT_NEAR((total(30ms) - 30ms).count(), 0, kUnit.count());
}

TEST_F(Busy, one_that_ends_later_than_another_begins_loses_nothing) {
  for (int i = 0; i < 1000; ++i) {
    clock.begin(start + i * 1ms);
    if (i > 0) clock.end(start + i * 1ms);
  }
  EXPECT_NEAR((total(1s) - 1s).count(), 0, kUnit.count());
}

TEST_F(Busy, threads_agree_on_the_union) {
  clock.begin(Clock::now());  // is there the whole time
  const TimePoint begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([this] {
        for (int i = 0; i < 20000; ++i) {
          clock.begin(Clock::now());
          clock.end(Clock::now());
        }
      });
    }
  }
  const TimePoint end = Clock::now();
  clock.end(end);
  EXPECT_GE(clock.total(end + 1s), end - begin - 2 * kUnit);
  EXPECT_LE(clock.total(end + 1s), end - start + 2 * kUnit);
}

}  // namespace
}  // namespace stoker
