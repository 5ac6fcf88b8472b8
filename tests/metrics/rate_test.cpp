#include <gmock/gmock.h>

#include "io/metrics/spread.h"

namespace stoker {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TimePoint t0{std::chrono::hours(1)};

TEST(RateWindows, a_window_ends_with_the_first_step_at_or_after_its_length) {
  RateWindows windows(t0, milliseconds(1000));
  windows.add(t0 + milliseconds(400), 64);
  windows.add(t0 + milliseconds(800), 64);
  EXPECT_THAT(windows.rates(), IsEmpty());
  windows.add(t0 + milliseconds(1200), 64);
  EXPECT_THAT(windows.rates(), ElementsAre(192 / 1.2));
}

TEST(RateWindows, the_next_window_begins_where_the_last_one_ended) {
  RateWindows windows(t0, milliseconds(1000));
  windows.add(t0 + milliseconds(1500), 30);
  windows.add(t0 + milliseconds(2400), 30);
  windows.add(t0 + milliseconds(2500), 30);
  EXPECT_THAT(windows.rates(), ElementsAre(20, 60));
}

TEST(RateWindows, a_step_longer_than_a_window_is_one_long_window) {
  RateWindows windows(t0, milliseconds(1000));
  windows.add(t0 + milliseconds(8000), 32);
  EXPECT_THAT(windows.rates(), ElementsAre(4));
}

TEST(RateWindows, a_begun_window_has_no_rate) {
  RateWindows windows(t0, milliseconds(1000));
  windows.add(t0 + milliseconds(1000), 10);
  windows.add(t0 + milliseconds(1999), 10);
  EXPECT_THAT(windows.rates(), ElementsAre(10));
}

TEST(RateWindows, no_time_gives_no_rate) {
  RateWindows windows(t0, milliseconds(0));
  windows.add(t0, 10);
  EXPECT_THAT(windows.rates(), IsEmpty());
  windows.add(t0 + milliseconds(500), 10);
  EXPECT_THAT(windows.rates(), ElementsAre(40));
}

}  // namespace
}  // namespace stoker
