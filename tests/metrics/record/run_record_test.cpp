#include "io/metrics/record/run_record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/metrics/record/figures.h"

namespace stoker {
namespace {

using std::chrono::seconds;

// Two moments of one run, two seconds apart, and what a figure is between them.
struct Window : testing::Test {
  RunRecord from;
  RunRecord to;

  Window() {
    from.elapsed_s = 10;
    to.elapsed_s = 12;
    from.run.phase = to.run.phase = RunPhase::train;
    from.run.totals.wall_s = from.run.totals.segments[0] = 10;  // data_wait
    to.run.totals = from.run.totals;
    spent(from, Segment::data_wait) = spent(to, Segment::data_wait) = 10;
  }
  // What the trainer did up to that moment, the step under way included.
  static double& spent(RunRecord& record, Segment segment) {
    return record.run.doing.spent_s[static_cast<size_t>(segment)];
  }
  std::optional<double> value(const std::string& column) const {
    const Figure* figure = find_figure(column);
    if (figure == nullptr) throw std::logic_error("no figure of the name " + column);
    const RunRecord now = with_step_under_way(to);
    const RunRecord window = between(with_step_under_way(from), now);
    const auto row = figure_row(std::vector{figure}, now, window);
    const auto found = std::ranges::find(row, column, &RowField::name);
    EXPECT_NE(found, row.end()) << column;
    return found == row.end() ? std::nullopt : found->value;
  }
};

TEST_F(Window, traffic_is_per_second_of_it) {
  TierMeter::State tier;
  tier.name = "a,b";
  from.tiers = {tier};
  auto& reads = tier.ops[static_cast<size_t>(TierOp::read)];
  reads.bytes = 6'000'000;
  reads.count = 4;
  tier.moved[0].busy_s = 0.5;
  to.tiers = {tier};
  EXPECT_EQ(value("elapsed_s"), 12.0);
  EXPECT_EQ(value("tiers.a,b.read.mb_per_s"), 3.0);
  EXPECT_EQ(value("tiers.a,b.read.busy_mb_per_s"), 12.0);
  EXPECT_EQ(value("tiers.a,b.read.operations_per_s"), 2.0);
  EXPECT_EQ(value("tiers.a,b.write.mb_per_s"), 0.0);
}

// A stall of minutes is seen while it lasts, and is counted once.
TEST_F(Window, a_step_under_way_counts_as_what_the_trainer_did) {
  spent(to, Segment::checkpoint_stall) = 2;
  EXPECT_EQ(value("segments_share.checkpoint_stall"), 1.0);
  EXPECT_EQ(value("io_share"), 0.0);
  from = to;
  to.elapsed_s = 13;
  to.run.totals.wall_s = 13;
  spent(to, Segment::checkpoint_stall) = 2.5;
  spent(to, Segment::compute) = 0.5;
  EXPECT_DOUBLE_EQ(*value("segments_share.checkpoint_stall"), 0.5);
  EXPECT_DOUBLE_EQ(*value("segments_share.compute"), 0.5);
}

// Steps of 0.8 s in windows of a second: counted whole, they would make 64, 64, 64, 64, 128 images.
TEST_F(Window, a_constant_rate_has_no_steps_in_it) {
  RunRecord record;
  record.run.phase = RunPhase::train;
  record.run.step_s = 0.8;
  record.run.step_images = 64;
  record.run.info.steps_planned = 100;
  int64_t before = 0;
  for (int second = 1; second <= 12; ++second) {
    record.elapsed_s = second;
    const int64_t steps = static_cast<int64_t>(second / 0.8 + 1e-9);
    record.run.totals.images = 64 * steps;
    record.run.totals.wall_s = 0.8 * static_cast<double>(steps);
    record.run.totals.segments[static_cast<size_t>(Segment::compute)] = record.run.totals.wall_s;
    spent(record, Segment::compute) = second;
    const int64_t images = with_step_under_way(record).run.totals.images;
    EXPECT_NEAR(static_cast<double>(images - before), 80, 1) << second;
    before = images;
  }
  record.elapsed_s = 60;  // a stall is no progress
  spent(record, Segment::checkpoint_stall) = 48;
  EXPECT_EQ(with_step_under_way(record).run.totals.images, before);
  spent(record, Segment::data_wait) = 48;
  EXPECT_EQ(with_step_under_way(record).run.totals.images, record.run.totals.images + 64);
  record.run.totals.steps = 100;  // no further one comes
  EXPECT_EQ(with_step_under_way(record).run.totals.images, record.run.totals.images);
}

TEST_F(Window, a_pause_of_the_process_says_nothing_of_its_pace) {
  to.run.totals.images = 100;
  to.run.totals.wall_s = to.elapsed_s = 20;
  spent(to, Segment::paused) = 8;
  spent(to, Segment::data_wait) += 1;
  spent(to, Segment::compute) = 1;
  EXPECT_DOUBLE_EQ(*value("images_per_s"), 50);
  EXPECT_DOUBLE_EQ(*value("io_share"), 0.5);
  EXPECT_DOUBLE_EQ(*value("segments_share.paused"), 0.8);
}

TEST_F(Window, shares_are_absent_outside_the_loop) {
  from.run.phase = to.run.phase = RunPhase::flush;
  EXPECT_EQ(value("segments_share.checkpoint_stall"), std::nullopt);
  EXPECT_EQ(value("images_per_s"), std::nullopt);
}

TEST_F(Window, the_device_is_what_was_observed) {
  EXPECT_EQ(value("device.busy_share"), std::nullopt);
  to.run.totals.device = {4, 3, 0, {1, 0, 0, 0}};
  EXPECT_EQ(value("device.busy_share"), 0.75);
  EXPECT_EQ(value("device.observed_s"), 4.0);
  EXPECT_EQ(value("device.idle_share_by_cause.data"), 0.25);
}

TEST_F(Window, rounding_makes_no_device_idle_for_less_than_nothing) {
  from.run.totals.device = {0.4, 0.35, 0, {0.05, 0, 0, 0}};
  to.run.totals.device = {0.7, 0.65, 0, {0.05, 0, 0, 0}};
  ASSERT_LT(0.7 - 0.4, 0.65 - 0.35);
  EXPECT_EQ(value("device.idle_share"), 0.0);
}

TEST_F(Window, what_the_kernel_does_not_say_is_absent) {
  EXPECT_EQ(value("process.cores"), std::nullopt);
  EXPECT_EQ(value("system.busy_share"), std::nullopt);
  EXPECT_EQ(value("process.storage_read_mb_per_s"), std::nullopt);
  EXPECT_EQ(value("system.disk_written_mb_per_s"), std::nullopt);
  from.machine.process.cpu_seconds = 1;
  to.machine.process.cpu_seconds = 4;
  from.machine.system.cpu = CpuSeconds{1, 0, 0, 1, 0, 0, 0, 0};
  to.machine.system.cpu = CpuSeconds{2, 0, 0, 3, 1, 0, 0, 0};
  EXPECT_EQ(value("process.cores"), 1.5);
  EXPECT_EQ(value("system.busy_cores"), 0.5);
  EXPECT_EQ(value("system.busy_share"), 0.25);
}

}  // namespace
}  // namespace stoker
