#include "io/device/launch_gaps.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

using std::chrono::milliseconds;

const TimePoint kStart = TimePoint(std::chrono::hours(1));

struct Steps {
  LaunchGaps gaps;
  // Milliseconds that a step which was launched whole before it began, or after, was starved.
  double ahead(int64_t work, int64_t samples = 4) { return starved(-1, work, samples); }
  double late(int64_t work, int64_t samples = 4) { return starved(1, work, samples); }
  double starved(int64_t launched, int64_t work, int64_t samples) {
    return 1e3 * seconds(gaps.starved({.samples = samples,
                                       .launched = kStart + milliseconds(launched),
                                       .start = kStart,
                                       .work = milliseconds(work)}));
  }
  // The number of the next step that is to be held.
  int64_t next() {
    int64_t step = 1;
    while (!gaps.hold_next()) ++step;
    return step;
  }
};

TEST(LaunchGaps, nothing_is_known_before_a_step_was_launched_ahead) {
  Steps steps;
  EXPECT_EQ(steps.late(30), 0);
}

TEST(LaunchGaps, what_a_late_step_takes_longer_than_one_launched_ahead_are_gaps) {
  Steps steps;
  EXPECT_EQ(steps.ahead(10), 0);
  EXPECT_NEAR(steps.late(30), 20, 1e-3);
  EXPECT_EQ(steps.late(9), 0);
}

TEST(LaunchGaps, a_smaller_batch_computes_for_less_time) {
  Steps steps;
  steps.ahead(20, 256);
  EXPECT_NEAR(steps.late(20, 64), 15, 1e-3);
}

TEST(LaunchGaps, a_step_launched_ahead_has_none_however_long_it_takes_and_counts_from_then_on) {
  Steps steps;
  steps.ahead(10);
  EXPECT_EQ(steps.ahead(18), 0);
  EXPECT_NEAR(steps.late(30), 19, 1e-3);
  for (int i = 0; i < 100; ++i) steps.ahead(20);
  EXPECT_NEAR(steps.late(30), 10, 0.1);
}

TEST(LaunchGaps, a_step_is_held_where_none_is_launched_ahead_less_often_while_nothing_is_learned) {
  Steps steps;
  EXPECT_EQ(steps.next(), 8);
  EXPECT_EQ(steps.next(), 16);
  EXPECT_EQ(steps.next(), 32);
  for (int i = 0; i < 10; ++i) steps.next();
  EXPECT_EQ(steps.next(), 512);
}

TEST(LaunchGaps, none_is_held_while_the_host_is_ahead) {
  Steps steps;
  for (int i = 0; i < 2000; ++i) {
    EXPECT_FALSE(steps.gaps.hold_next());
    steps.ahead(10);
  }
  EXPECT_EQ(steps.next(), 512);
}

}  // namespace
}  // namespace stoker
