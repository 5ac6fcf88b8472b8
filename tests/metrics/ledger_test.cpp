#include "io/metrics/ledger.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <thread>

namespace stoker {
namespace {

double total(const StepLedger& ledger, Segment segment) {
  return ledger.totals()[static_cast<size_t>(segment)];
}

double sum(const StepLedger& ledger) {
  const auto totals = ledger.totals();
  return std::accumulate(totals.begin(), totals.end(), 0.0);
}

void work() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

TEST(Ledger, every_segment_has_the_name_that_reports_print) {
  std::string names;
  for (size_t i = 0; i < kSegments; ++i)
    names += std::string(segment_name(static_cast<Segment>(i))) + " ";
  EXPECT_EQ(names, "data_wait h2d compute allreduce checkpoint_stall eval log other paused ");
}

TEST(Ledger, counts_each_stretch_of_time_in_one_segment) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  ledger.switch_to(Segment::data_wait);
  work();
  ledger.switch_to(Segment::compute);
  work();
  ledger.switch_to(Segment::data_wait);
  work();
  ledger.end();
  EXPECT_GE(total(ledger, Segment::data_wait), 0.004);
  EXPECT_GE(total(ledger, Segment::compute), 0.002);
  EXPECT_EQ(total(ledger, Segment::eval), 0);
  EXPECT_LE(sum(ledger), ledger.wall());
}

TEST(Ledger, the_closure_error_is_what_no_segment_holds) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  for (int step = 0; step < 100; ++step) {
    ledger.switch_to(Segment::compute);
    ledger.switch_to(Segment::other);
  }
  ledger.end();
  EXPECT_GT(ledger.closure_error(), 0);
  EXPECT_NEAR(ledger.closure_error(), (ledger.wall() - sum(ledger)) / ledger.wall(), 1e-12);
}

TEST(Ledger, the_closure_error_is_known_while_the_loop_runs) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  ledger.switch_to(Segment::compute);
  work();
  EXPECT_LT(ledger.closure_error(), 1);  // what has not ended yet is no part of it
  ledger.switch_to(Segment::other);
  const double error = ledger.closure_error();
  work();
  EXPECT_EQ(ledger.closure_error(), error);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.5);
}

TEST(Ledger, time_before_the_first_switch_is_other) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  work();
  ledger.switch_to(Segment::data_wait);
  EXPECT_GE(total(ledger, Segment::other), 0.002);
}

TEST(Ledger, hands_out_its_intervals_once_and_in_order) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  ledger.switch_to(Segment::data_wait);
  ledger.switch_to(Segment::compute);
  const auto first = ledger.take_intervals();
  ledger.end();
  const auto second = ledger.take_intervals();
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].segment, Segment::other);
  EXPECT_EQ(first[1].segment, Segment::data_wait);
  EXPECT_EQ(second[0].segment, Segment::compute);
  EXPECT_LE(ledger.begun(), first[0].begin);
  EXPECT_LE(first[0].end, first[1].begin);
  EXPECT_LE(first[1].end, second[0].begin);
  EXPECT_TRUE(ledger.take_intervals().empty());
}

TEST(Ledger, the_intervals_add_up_to_the_totals) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  ledger.switch_to(Segment::log);
  work();
  ledger.switch_to(Segment::h2d);
  ledger.end();
  double taken = 0;
  for (const SegmentInterval& interval : ledger.take_intervals()) {
    taken += seconds(interval.end - interval.begin);
  }
  EXPECT_DOUBLE_EQ(taken, sum(ledger));
}

TEST(Ledger, stands_still_outside_the_loop) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.switch_to(Segment::compute);
  ledger.begin();
  ledger.end();
  const double wall = ledger.wall();
  const double segments = sum(ledger);
  work();
  ledger.switch_to(Segment::compute);
  ledger.end();
  EXPECT_EQ(ledger.wall(), wall);
  EXPECT_EQ(sum(ledger), segments);
}

// A reading within a step was once counted as what the trainer did at that moment, all of the step.
TEST(Ledger, what_others_read_of_it_never_shrinks) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  LiveSegments::Reading last = now.read();
  for (const Segment next : {Segment::compute, Segment::other, Segment::checkpoint_stall}) {
    ledger.switch_to(next);
    work();
    const LiveSegments::Reading reading = now.read();
    EXPECT_EQ(reading.segment, next);
    EXPECT_GE(reading.spent_s[static_cast<size_t>(next)], 0.002);
    for (size_t i = 0; i < kSegments; ++i) EXPECT_GE(reading.spent_s[i], last.spent_s[i]);
    last = reading;
  }
  ledger.end();
  const LiveSegments::Reading ended = now.read();
  work();
  EXPECT_EQ(now.read().spent_s, ended.spent_s);
  EXPECT_EQ(ended.spent_s, ledger.totals());
}

void stand_still() {
  std::this_thread::sleep_for(LiveSegments::kLeastPause + std::chrono::milliseconds(50));
}

TEST(Ledger, what_the_process_stood_still_is_taken_out_of_the_segment_it_fell_into) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  ledger.switch_to(Segment::data_wait);
  const LiveSegments::Reading before = now.read();
  now.beat();
  stand_still();  // nobody says that the process runs
  const LiveSegments::Reading after = now.read();
  const auto paused = static_cast<size_t>(Segment::paused);
  EXPECT_EQ(before.spent_s[paused], 0);
  EXPECT_GE(after.spent_s[paused], 1.05);
  work();
  now.beat();
  ledger.switch_to(Segment::compute);
  ledger.end();
  EXPECT_EQ(total(ledger, Segment::paused), after.spent_s[paused]);
  EXPECT_GE(total(ledger, Segment::data_wait), after.spent_s[0] + 0.002);
  EXPECT_LE(sum(ledger), ledger.wall());
  EXPECT_NEAR(ledger.closure_error(), (ledger.wall() - sum(ledger)) / ledger.wall(), 1e-12);

  std::string names;
  double taken = 0;
  for (const SegmentInterval& interval : ledger.take_intervals()) {
    names += std::string(segment_name(interval.segment)) + " ";
    taken += seconds(interval.end - interval.begin);
  }
  EXPECT_EQ(names, "other data_wait paused data_wait compute ");
  EXPECT_DOUBLE_EQ(taken, sum(ledger));
}

// The trainer may be the first that goes on after a pause, before whoever calls beat().
TEST(Ledger, finds_a_pause_itself_and_counts_it_once) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  now.beat();
  ledger.switch_to(Segment::data_wait);
  stand_still();
  ledger.switch_to(Segment::compute);
  const double paused = total(ledger, Segment::paused);
  EXPECT_GE(paused, 1.05);
  now.beat();
  ledger.end();
  EXPECT_EQ(total(ledger, Segment::paused), paused);
}

TEST(Ledger, knows_no_pauses_where_nobody_says_that_the_process_runs) {
  LiveSegments now;
  now.beat();  // before the loop
  StepLedger ledger(now);
  ledger.begin();
  stand_still();
  ledger.end();
  EXPECT_EQ(total(ledger, Segment::paused), 0);
}

TEST(Ledger, begins_anew) {
  LiveSegments now;
  StepLedger ledger(now);
  ledger.begin();
  ledger.switch_to(Segment::compute);
  work();
  ledger.end();
  ledger.begin();
  EXPECT_EQ(total(ledger, Segment::compute), 0);
  EXPECT_TRUE(ledger.take_intervals().empty());
}

}  // namespace
}  // namespace stoker
