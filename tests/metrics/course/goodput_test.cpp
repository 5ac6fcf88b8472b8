#include "io/metrics/course/goodput.h"

#include <gtest/gtest.h>

#include <numeric>

namespace stoker {
namespace {

using Part = GoodputPart;

Moment moment(double boot_s, const char* boot = "first") {
  return {boot, boot_s, 1e9 + boot_s + (boot == std::string("first") ? 0 : 5000)};
}

Goodput begun(double boot_s) {
  Goodput record;
  record.at = moment(boot_s);
  record.begun_boot_s = boot_s;
  return record;
}

// So old, in a loop that began after 2 s and had its first batch 1 s later; of the rest `data`
// seconds were waits for data.
ProcessCourse course(double age_s, double data) {
  ProcessCourse of;
  of.age_s = age_s;
  of.loop_s = 2;
  of.first_batch_s = 3;
  of.before_first[static_cast<size_t>(Segment::data_wait)] = 1;
  of.segments[static_cast<size_t>(Segment::data_wait)] = 1 + data;
  return of;
}

double sum(const GoodputParts& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

double part(const GoodputParts& parts, GoodputPart of) { return parts[static_cast<size_t>(of)]; }

TEST(Goodput, a_process_that_has_no_batch_yet_only_starts) {
  ProcessCourse of;
  of.age_s = 2;
  EXPECT_DOUBLE_EQ(part(parts_of(of), Part::start), 2);
  of.loop_s = 1.5;
  of.segments[static_cast<size_t>(Segment::data_wait)] = 0.4;
  EXPECT_DOUBLE_EQ(part(parts_of(of), Part::start), 2);
  EXPECT_DOUBLE_EQ(part(parts_of(of), Part::data_wait), 0);
}

TEST(Goodput, the_parts_of_a_process_are_its_age) {
  ProcessCourse of = course(20, 4);
  of.slept_s = 100;
  of.segments[static_cast<size_t>(Segment::eval)] = 2;
  of.segments[static_cast<size_t>(Segment::checkpoint_stall)] = 1;
  of.segments[static_cast<size_t>(Segment::paused)] = 0.5;
  GoodputParts parts = parts_of(of);
  EXPECT_DOUBLE_EQ(part(parts, Part::start), 3);
  EXPECT_DOUBLE_EQ(part(parts, Part::data_wait), 4);
  EXPECT_DOUBLE_EQ(part(parts, Part::evaluation), 2);
  EXPECT_DOUBLE_EQ(part(parts, Part::checkpoint_stall), 1);
  EXPECT_DOUBLE_EQ(part(parts, Part::paused), 100.5);
  EXPECT_DOUBLE_EQ(part(parts, Part::effective), 9.5);
  EXPECT_DOUBLE_EQ(sum(parts), 120);
  of.over_s = 15;  // the loop was over after 17 s
  parts = parts_of(of);
  EXPECT_DOUBLE_EQ(part(parts, Part::end), 3);
  EXPECT_DOUBLE_EQ(part(parts, Part::effective), 6.5);
  EXPECT_DOUBLE_EQ(sum(parts), 120);
}

TEST(Goodput, an_evaluation_before_the_first_step_is_no_start) {
  ProcessCourse of = course(20, 4);
  of.first_batch_s = 8;
  of.before_first[static_cast<size_t>(Segment::eval)] = 5;
  of.segments[static_cast<size_t>(Segment::eval)] = 6;
  const GoodputParts parts = parts_of(of);
  EXPECT_DOUBLE_EQ(part(parts, Part::start), 3);
  EXPECT_DOUBLE_EQ(part(parts, Part::evaluation), 6);
  EXPECT_DOUBLE_EQ(sum(parts), 20);
}

TEST(Goodput, what_follows_a_save_is_lost_with_a_kill) {
  const Goodput first = begun(1000);
  const Goodput saved = at_moment(first, course(10, 2), moment(1010), 6);
  const Goodput killed = at_moment(first, course(18, 3), moment(1018), 11);
  Goodput second = gone_on_from(taken_up(killed, moment(1030)), &saved, 6);
  EXPECT_EQ(second.lost_steps, 5);
  EXPECT_EQ(second.steps, 6);
  EXPECT_EQ(second.processes, 2);
  EXPECT_EQ(second.interruptions, 1);
  EXPECT_DOUBLE_EQ(second.part(Part::lost), 8);
  EXPECT_DOUBLE_EQ(second.part(Part::effective), 5);
  EXPECT_DOUBLE_EQ(second.part(Part::data_wait), 2);
  EXPECT_DOUBLE_EQ(second.part(Part::down), 12);
  EXPECT_DOUBLE_EQ(second.wall_s(), 30);
  EXPECT_DOUBLE_EQ(second.closure_error(), 0);

  EXPECT_FALSE(recovered(second, 11, 43));
  EXPECT_TRUE(recovered(second, 12, 44));
  EXPECT_FALSE(recovered(second, 13, 45));
  EXPECT_DOUBLE_EQ(*second.newest_recovery_s, 44 - 18);
  const Goodput now = at_moment(second, course(20, 0), moment(1050), 13);
  EXPECT_DOUBLE_EQ(now.wall_s(), 50);
  EXPECT_DOUBLE_EQ(now.closure_error(), 0);
}

TEST(Goodput, two_kills_without_a_save_are_one_recovery) {
  Goodput record = at_moment(begun(0), course(10, 1), moment(10), 7);
  record = gone_on_from(taken_up(record, moment(11)), nullptr, 0);
  EXPECT_EQ(record.lost_steps, 7);
  record = at_moment(record, course(6, 0), moment(17), 3);
  record = gone_on_from(taken_up(record, moment(20)), nullptr, 0);
  EXPECT_EQ(record.lost_steps, 10);
  EXPECT_DOUBLE_EQ(record.part(Part::start), 6);
  EXPECT_DOUBLE_EQ(record.part(Part::lost), 7 + 3);
  EXPECT_FALSE(recovered(record, 7, 30));
  EXPECT_TRUE(recovered(record, 8, 31));
  EXPECT_EQ(record.recoveries, 1);
  EXPECT_DOUBLE_EQ(record.recovered_s, 21);
  EXPECT_DOUBLE_EQ(record.closure_error(), 0);
}

TEST(Goodput, a_process_that_was_killed_before_it_knew_is_taken_up_as_well) {
  const Goodput saved = at_moment(begun(0), course(10, 0), moment(10), 5);
  const Goodput killed = at_moment(begun(0), course(12, 0), moment(12), 7);
  ProcessCourse starting;
  starting.age_s = 4;
  const Goodput second = at_moment(taken_up(killed, moment(20)), starting, moment(24), 7);
  const Goodput third = gone_on_from(taken_up(second, moment(25)), &saved, 5);
  EXPECT_EQ(third.lost_steps, 2);
  EXPECT_EQ(third.processes, 3);
  EXPECT_DOUBLE_EQ(third.part(Part::start), 3 + 4);
  EXPECT_DOUBLE_EQ(third.part(Part::down), 8 + 1);
  EXPECT_DOUBLE_EQ(third.part(Part::lost), 2);
  EXPECT_DOUBLE_EQ(third.closure_error(), 0);
}

TEST(Goodput, who_was_stopped_after_his_save_has_lost_nothing) {
  const Goodput saved = at_moment(begun(0), course(10, 0), moment(10), 5);
  Goodput stopped = at_moment(begun(0), course(11, 0), moment(11), 5);
  stopped.end = ProcessEnd::interrupted;
  stopped.in_loop = false;
  const Goodput next = gone_on_from(taken_up(stopped, moment(12)), &saved, 5);
  EXPECT_DOUBLE_EQ(next.part(Part::lost), 0);
  EXPECT_EQ(next.interruptions, 1);
  EXPECT_DOUBLE_EQ(next.closure_error(), 0);
}

TEST(Goodput, what_passes_after_the_last_step_is_no_part_of_the_training) {
  Goodput done = at_moment(begun(0), course(10, 0), moment(10), 5);
  done.end = ProcessEnd::completed;
  const Goodput next = taken_up(done, moment(5000));
  EXPECT_DOUBLE_EQ(next.wall_s(), 10);
  EXPECT_DOUBLE_EQ(next.part(Part::down), 0);
  EXPECT_EQ(next.interruptions, 0);
  EXPECT_FALSE(next.recovering);
  EXPECT_DOUBLE_EQ(next.closure_error(), 0);
}

TEST(Goodput, over_a_restart_of_the_machine_the_systems_clock_counts) {
  const Goodput killed = at_moment(begun(1000), course(10, 0), moment(1010), 5);
  const Goodput next = taken_up(killed, moment(30, "second"));  // 5030 s, less 1010
  EXPECT_DOUBLE_EQ(next.part(Part::down), 4020);
  EXPECT_DOUBLE_EQ(next.wall_s(), 4030);
  EXPECT_DOUBLE_EQ(next.closure_error(), 0);
  EXPECT_DOUBLE_EQ(passed_s({"a", 5, 100}, {"b", 1, 90}), 0);  // somebody has set it back
}

TEST(Goodput, time_that_was_not_handed_on_shows) {
  Goodput record = at_moment(begun(0), course(10, 0), moment(10), 5);
  record.parts_s[static_cast<size_t>(Part::effective)] -= 1;
  EXPECT_DOUBLE_EQ(record.closure_error(), 0.1);
}

}  // namespace
}  // namespace stoker
