#include "io/metrics/idle.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace stoker {
namespace {

using std::chrono::milliseconds;

// Hand-made timelines in milliseconds after the begin of the loop.
TimePoint at(int ms) { return TimePoint(std::chrono::hours(1)) + milliseconds(ms); }

struct Timeline {
  IdleAttribution idle{at(0)};

  Timeline& segment(Segment segment, int begin, int end) {
    idle.add_segment({segment, at(begin), at(end)});
    return *this;
  }
  Timeline& step(int submitted, int start, int end, int copy = 0) {
    idle.add_step({at(submitted), at(start), at(end), milliseconds(copy)});
    return *this;
  }
  // "observed = busy + data + h2d + checkpoint + host" in whole milliseconds.
  std::string text() const {
    const auto ms = [](double s) { return std::to_string(static_cast<int>(s * 1000 + 0.5)); };
    const DeviceTime time = idle.total();
    return ms(time.observed) + " = " + ms(time.busy) + " + " + ms(time.idle[0]) + " + " +
           ms(time.idle[1]) + " + " + ms(time.idle[2]) + " + " +
           ms(time.idle[static_cast<size_t>(IdleCause::host)]);
  }
};

TEST(Idle, every_cause_has_the_name_that_reports_print) {
  EXPECT_STREQ(idle_cause_name(IdleCause::data), "data");
  EXPECT_STREQ(idle_cause_name(IdleCause::h2d), "h2d");
  EXPECT_STREQ(idle_cause_name(IdleCause::checkpoint), "checkpoint");
  EXPECT_STREQ(idle_cause_name(IdleCause::peers), "peers");
  EXPECT_STREQ(idle_cause_name(IdleCause::host), "host");
}

TEST(Idle, nothing_is_observed_before_the_first_step_has_finished) {
  Timeline t;
  t.segment(Segment::data_wait, 0, 50);
  EXPECT_EQ(t.text(), "0 = 0 + 0 + 0 + 0 + 0");
  EXPECT_EQ(t.idle.au(), std::nullopt);
}

// Of the gap before a step, of its wait for the batch's copy and of the step itself.
TEST(Idle, what_the_process_stood_still_is_not_observed) {
  Timeline t;
  t.segment(Segment::compute, 0, 10).step(0, 0, 10);
  t.segment(Segment::data_wait, 10, 20).segment(Segment::paused, 20, 5020);
  t.segment(Segment::data_wait, 5020, 5030).segment(Segment::compute, 5030, 5040);
  t.step(5030, 5030, 5040);
  EXPECT_EQ(t.text(), "40 = 20 + 20 + 0 + 0 + 0");
  EXPECT_DOUBLE_EQ(*t.idle.au(), 10.0 / 30);
  t.segment(Segment::compute, 5040, 5045).segment(Segment::paused, 5045, 9045);
  t.segment(Segment::compute, 9045, 9050).step(5040, 5040, 9050);
  EXPECT_EQ(t.text(), "50 = 30 + 20 + 0 + 0 + 0");
  t.segment(Segment::compute, 9050, 9052).segment(Segment::paused, 9052, 9952);
  t.segment(Segment::compute, 9952, 9960).step(9051, 9953, 9960);
  EXPECT_EQ(t.text(), "60 = 37 + 20 + 2 + 0 + 1");
}

// On hand at once from a device that knows, or later from a vote of the ranks.
TEST(Idle, waiting_for_peers_is_taken_off_the_step) {
  Timeline t{IdleAttribution(at(0), true)};
  t.segment(Segment::compute, 0, 30);
  t.idle.add_step({at(0), at(0), at(10), {}, milliseconds(3)});
  EXPECT_EQ(t.text(), "0 = 0 + 0 + 0 + 0 + 0");
  t.step(10, 10, 30);
  EXPECT_EQ(t.text(), "10 = 7 + 0 + 0 + 0 + 0");
  t.idle.add_peers(milliseconds(5));
  t.idle.settle();
  EXPECT_EQ(t.text(), "30 = 22 + 0 + 0 + 0 + 0");
  EXPECT_DOUBLE_EQ(t.idle.total().idle[static_cast<size_t>(IdleCause::peers)], 0.008);
  EXPECT_DOUBLE_EQ(*t.idle.au(), 0.75);
}

// A row of steps.csv is the difference of two totals: none of it is negative, or more than the
// observed time, however late and long the waits for peers are.
TEST(Idle, what_was_counted_is_never_taken_back) {
  Timeline t{IdleAttribution(at(0), true)};
  DeviceTime before = t.idle.total();
  for (int step = 0; step < 20; ++step) {
    t.segment(Segment::compute, 10 * step, 10 * step + 10)
        .step(10 * step, 10 * step, 10 * step + 1 + step % 9);
    const DeviceTime now = t.idle.total();
    double sum = now.busy - before.busy;
    EXPECT_GE(sum, 0);
    for (size_t i = 0; i < kIdleCauses; ++i) {
      EXPECT_GE(now.idle[i], before.idle[i]);
      sum += now.idle[i] - before.idle[i];
    }
    EXPECT_NEAR(sum, now.observed - before.observed, 1e-9);
    before = now;
    t.idle.add_peers(milliseconds(step % 3 == 0 ? 12 : 1));
  }
  EXPECT_GT(before.idle[static_cast<size_t>(IdleCause::peers)], 0.05);
}

TEST(Idle, what_a_step_was_starved_is_the_hosts_but_for_what_it_waited_for_a_checkpoint) {
  Timeline t;
  t.segment(Segment::compute, 0, 10).step(0, 0, 10);
  t.segment(Segment::compute, 10, 12).segment(Segment::checkpoint_stall, 12, 15);
  t.segment(Segment::compute, 15, 20);
  t.idle.add_step(
      {.submitted = at(10), .start = at(10), .end = at(20), .starved = milliseconds(4)});
  EXPECT_EQ(t.text(), "20 = 16 + 0 + 0 + 3 + 1");
  t.idle.add_step(
      {.submitted = at(20), .start = at(20), .end = at(30), .starved = milliseconds(9)});
  EXPECT_EQ(t.text(), "30 = 17 + 0 + 0 + 3 + 10");
}

TEST(Idle, filling_the_pipeline_is_idle_time_because_of_data) {
  Timeline t;
  t.segment(Segment::other, 0, 2).segment(Segment::data_wait, 2, 50).step(50, 50, 80);
  EXPECT_EQ(t.text(), "80 = 30 + 48 + 0 + 0 + 2");
}

TEST(Idle, each_segment_of_a_gap_has_its_cause) {
  Timeline t;
  t.segment(Segment::compute, 0, 10).step(0, 0, 10);
  t.segment(Segment::other, 10, 11).segment(Segment::data_wait, 11, 31);
  t.segment(Segment::h2d, 31, 35).segment(Segment::eval, 35, 75).segment(Segment::log, 75, 77);
  t.segment(Segment::checkpoint_stall, 77, 80);
  t.segment(Segment::compute, 80, 90).step(80, 80, 90);
  EXPECT_EQ(t.text(), "90 = 20 + 20 + 4 + 3 + 43");
}

TEST(Idle, a_host_wait_hidden_behind_queued_work_is_no_idle_time) {
  Timeline t;
  t.segment(Segment::compute, 0, 1).step(0, 0, 50);
  t.segment(Segment::data_wait, 1, 40).segment(Segment::compute, 40, 41).step(40, 50, 100);
  EXPECT_EQ(t.text(), "100 = 100 + 0 + 0 + 0 + 0");
}

TEST(Idle, only_the_part_of_a_wait_after_the_step_before_counts) {
  Timeline t;
  t.segment(Segment::compute, 0, 1).step(0, 0, 50);
  t.segment(Segment::data_wait, 1, 70).segment(Segment::compute, 70, 71).step(70, 70, 120);
  EXPECT_EQ(t.text(), "120 = 100 + 20 + 0 + 0 + 0");
}

TEST(Idle, from_submission_to_start_the_device_waits_for_the_copy) {
  Timeline t;
  t.segment(Segment::compute, 0, 10).step(0, 0, 10);
  t.segment(Segment::data_wait, 10, 20).segment(Segment::compute, 20, 21).step(20, 26, 36, 8);
  EXPECT_EQ(t.text(), "36 = 20 + 10 + 6 + 0 + 0");
  EXPECT_DOUBLE_EQ(t.idle.total().copy, 0.008);
}

TEST(Idle, a_step_submitted_early_waits_for_its_copy_from_the_end_of_the_step_before) {
  Timeline t;
  t.segment(Segment::compute, 0, 10).step(0, 0, 30);
  t.segment(Segment::data_wait, 10, 20).segment(Segment::compute, 20, 21).step(20, 45, 60);
  EXPECT_EQ(t.text(), "60 = 45 + 0 + 15 + 0 + 0");
}

TEST(Idle, what_no_segment_covers_is_the_hosts) {
  Timeline t;
  t.segment(Segment::data_wait, 3, 5).segment(Segment::data_wait, 7, 9).step(10, 10, 20);
  EXPECT_EQ(t.text(), "20 = 10 + 4 + 0 + 0 + 6");
}

TEST(Idle, steps_may_come_long_after_their_segments) {
  Timeline late;
  late.segment(Segment::data_wait, 0, 10).segment(Segment::compute, 10, 20);
  late.segment(Segment::data_wait, 20, 40).segment(Segment::compute, 40, 50);
  late.segment(Segment::h2d, 50, 55).segment(Segment::compute, 55, 60);
  late.step(10, 10, 20).step(40, 40, 50).step(55, 55, 60);
  EXPECT_EQ(late.text(), "60 = 25 + 30 + 5 + 0 + 0");
}

TEST(Idle, a_segment_that_spans_two_gaps_counts_in_both) {
  Timeline t;
  t.segment(Segment::data_wait, 0, 100).step(10, 10, 20).step(50, 50, 60);
  EXPECT_EQ(t.text(), "60 = 20 + 40 + 0 + 0 + 0");
}

TEST(Idle, the_segment_that_is_still_open_counts_as_the_hosts) {
  Timeline t;
  t.segment(Segment::data_wait, 0, 10).step(15, 15, 20);
  EXPECT_EQ(t.text(), "20 = 5 + 10 + 0 + 0 + 5");
}

TEST(Idle, work_before_the_loop_began_is_not_observed) {
  Timeline t;
  t.step(-30, -20, -10).step(-5, -5, 15).step(15, 15, 20);
  EXPECT_EQ(t.text(), "20 = 20 + 0 + 0 + 0 + 0");
}

TEST(Idle, overlapping_steps_are_not_counted_twice) {
  Timeline t;
  t.step(0, 0, 10).step(5, 8, 14).step(9, 12, 13);
  EXPECT_EQ(t.text(), "14 = 14 + 0 + 0 + 0 + 0");
}

TEST(Idle, busy_and_idle_add_up_to_observed) {
  IdleAttribution idle(TimePoint{});
  TimePoint now{};
  const Clock::duration odd(1234567);
  for (int i = 0; i < 1000; ++i) {
    idle.add_segment({Segment::data_wait, now, now + odd});
    idle.add_segment({Segment::compute, now + odd, now + 3 * odd});
    idle.add_step({now + odd, now + odd + odd / 7, now + 2 * odd + Clock::duration(i), odd / 3});
    now += 3 * odd;
  }
  const DeviceTime time = idle.total();
  EXPECT_DOUBLE_EQ(time.observed,
                   time.busy + std::accumulate(time.idle.begin(), time.idle.end(), 0.0));
  EXPECT_DOUBLE_EQ(time.observed, seconds(now - odd + Clock::duration(999) - TimePoint{}));
}

TEST(Idle, au_leaves_out_the_first_step_and_what_came_before_it) {
  Timeline t;
  t.segment(Segment::data_wait, 0, 500).step(500, 500, 600);
  EXPECT_EQ(t.idle.au(), std::nullopt);
  t.segment(Segment::data_wait, 600, 620).step(620, 620, 700);
  EXPECT_DOUBLE_EQ(*t.idle.au(), 0.8);
  t.step(640, 700, 800);
  EXPECT_DOUBLE_EQ(*t.idle.au(), 0.9);
}

}  // namespace
}  // namespace stoker
