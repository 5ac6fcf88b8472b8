#include "io/device/event_timeline.h"

#include <gtest/gtest.h>

#include <string>

namespace stoker {
namespace {

using std::chrono::microseconds;

// Hand-made timelines in microseconds after an anchor.
TimePoint at(int64_t us) { return TimePoint(std::chrono::hours(1)) + microseconds(us); }

struct Timeline {
  EventTimeline timeline{at(0)};

  // "submitted start end"
  std::string add(int64_t recorded, int64_t gap, int64_t wait, int64_t work, int64_t held = 0,
                  bool ahead = false) {
    EventTimes times;
    times.recorded = at(recorded);
    times.ahead = ahead;
    times.gap = microseconds(gap);
    times.held = microseconds(held);
    times.wait = microseconds(wait);
    times.work = microseconds(work);
    const BusyInterval step = timeline.add(times);
    const auto us = [](TimePoint t) {
      return std::to_string(std::chrono::duration_cast<microseconds>(t - at(0)).count());
    };
    return us(step.submitted) + " " + us(step.start) + " " + us(step.end);
  }
};

TEST(EventTimeline, a_real_gap_anchors_the_step_where_the_host_recorded_it) {
  Timeline t;
  EXPECT_EQ(t.add(1000, 1003, 0, 500), "1000 1000 1500");
  EXPECT_EQ(t.add(2000, 498, 0, 500), "2000 2000 2500");
}

TEST(EventTimeline, a_queued_step_follows_the_one_before) {
  Timeline t;
  EXPECT_EQ(t.add(1000, 1000, 0, 500), "1000 1000 1500");
  EXPECT_EQ(t.add(1100, 2, 0, 500), "1502 1502 2002");
  EXPECT_EQ(t.add(1200, 3, 0, 500), "2005 2005 2505");
}

TEST(EventTimeline, the_wait_for_a_copy_lies_between_submitted_and_start) {
  Timeline t;
  EXPECT_EQ(t.add(1000, 1000, 300, 500), "1000 1300 1800");
  EXPECT_EQ(t.add(1100, 2, 100, 500), "1802 1902 2402");
}

TEST(EventTimeline, no_step_starts_before_the_host_recorded_it) {
  Timeline t;
  EXPECT_EQ(t.add(100, 100, 0, 500), "100 100 600");
  EXPECT_EQ(t.add(640, 2, 0, 500), "640 640 1140");
}

TEST(EventTimeline, what_lies_between_two_steps_while_the_host_is_ahead_is_work) {
  Timeline t;
  EXPECT_EQ(t.add(1000, 1000, 0, 500), "1000 1000 1500");
  EXPECT_EQ(t.add(1100, 200, 0, 500, 0, true), "1500 1500 2200");
  EXPECT_EQ(t.add(1600, 200, 50, 500, 0, true), "2200 2250 2950");
}

TEST(EventTimeline, a_step_that_was_held_back_counts_as_submitted_from_then_on) {
  Timeline t;
  EXPECT_EQ(t.add(1000, 1000, 300, 500, 2000), "3000 3300 3800");
  EXPECT_EQ(t.add(3100, 2, 0, 500), "3802 3802 4302");
}

TEST(EventTimeline, the_first_gap_counts_from_the_anchor) {
  Timeline t;
  EXPECT_EQ(t.add(10, 12, 0, 500), "12 12 512");
}

TEST(EventTimeline, a_clock_that_ran_fast_is_cut_in_the_report_and_corrected_by_the_anchor) {
  Timeline t;
  EXPECT_EQ(t.add(100, 100, 0, 1000), "100 100 1100");
  // The host has seen 1000 us where the device counted 1100: the next step is anchored earlier than
  // the end that was reported.
  EXPECT_EQ(t.add(1060, 60, 0, 1000), "1100 1100 2060");
  EXPECT_EQ(t.add(1500, 0, 0, 1000), "2060 2060 3060");
}

TEST(EventTimeline, hands_on_the_time_of_the_copy) {
  EventTimeline timeline(at(0));
  EventTimes times;
  times.recorded = at(0);
  times.copy = microseconds(7);
  EXPECT_EQ(timeline.add(times).copy, microseconds(7));
}

}  // namespace
}  // namespace stoker
