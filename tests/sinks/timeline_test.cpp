#include "io/sinks/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include "tests/sinks/rig.h"

namespace stoker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Row : testing::Test {
  TimelineMoment from;
  TimelineMoment to;

  Row() {
    const TimePoint begin = Clock::now();
    from.at = begin + seconds(10);
    to.at = begin + seconds(12);
    from.run.loop_begin = to.run.loop_begin = begin;
    from.run.phase = to.run.phase = RunPhase::train;
    from.run.totals.wall_s = from.run.totals.segments[0] = 10;  // data_wait
    to.run.totals.wall_s = from.run.totals.wall_s;
    to.run.totals.segments = from.run.totals.segments;
    from.run.segment = to.run.segment = Segment::checkpoint_stall;
  }
  std::optional<double> value(const std::string& name) const {
    const auto row = timeline_row(from, to);
    const auto found = std::ranges::find(row, name, &TimelineField::name);
    EXPECT_NE(found, row.end()) << name;
    return found == row.end() ? std::nullopt : found->value;
  }
};

TEST_F(Row, traffic_is_per_second_of_the_row) {
  TierMeter::State tier;
  tier.name = "a,b";
  from.tiers = {tier};
  auto& reads = tier.ops[static_cast<size_t>(TierOp::read)];
  reads.bytes = 6'000'000;
  reads.count = 4;
  to.tiers = {tier};
  EXPECT_EQ(value("t_s"), 12.0);
  EXPECT_EQ(value("a_b.read_mb_per_s"), 3.0);
  EXPECT_EQ(value("a_b.reads_per_s"), 2.0);
  EXPECT_EQ(value("a_b.write_mb_per_s"), 0.0);
}

// A stall of minutes is seen while it lasts, and is counted once.
TEST_F(Row, a_step_under_way_counts_as_what_the_trainer_does) {
  EXPECT_EQ(value("checkpoint_stall"), 1.0);
  EXPECT_EQ(value("data_wait"), 0.0);
  const TimelineMoment stalled = to;
  from = stalled;
  to.at += seconds(1);
  to.run.totals.wall_s = 13;
  to.run.totals.segments[static_cast<size_t>(Segment::checkpoint_stall)] = 2.5;
  to.run.totals.segments[static_cast<size_t>(Segment::compute)] = 0.5;
  EXPECT_DOUBLE_EQ(*value("checkpoint_stall"), 0.5);
  EXPECT_DOUBLE_EQ(*value("compute"), 0.5);
}

TEST_F(Row, shares_are_absent_outside_the_loop) {
  from.run.phase = to.run.phase = RunPhase::flush;
  EXPECT_EQ(value("checkpoint_stall"), std::nullopt);
}

TEST_F(Row, the_device_is_what_was_observed) {
  EXPECT_EQ(value("device_busy"), std::nullopt);
  to.run.totals.device.observed = 4;
  to.run.totals.device.busy = 3;
  to.run.totals.device.idle = {1, 0, 0, 0};
  EXPECT_EQ(value("device_busy"), 0.75);
  EXPECT_EQ(value("device_observed_s"), 4.0);
  EXPECT_EQ(value("idle_data"), 0.25);
}

TEST_F(Row, what_the_kernel_does_not_say_is_absent) {
  EXPECT_EQ(value("cpu_cores"), std::nullopt);
  EXPECT_EQ(value("system_cpu_busy"), std::nullopt);
  EXPECT_EQ(value("block_read_mb_per_s"), std::nullopt);
  EXPECT_EQ(value("disk_write_mb_per_s"), std::nullopt);
  from.process.cpu_seconds = 1;
  to.process.cpu_seconds = 4;
  from.system.cpu = CpuSeconds{1, 0, 0, 1, 0, 0, 0, 0};
  to.system.cpu = CpuSeconds{2, 0, 0, 3, 1, 0, 0, 0};
  EXPECT_EQ(value("cpu_cores"), 1.5);
  EXPECT_EQ(value("system_cpu_busy"), 0.25);
}

// Rows are there while the run goes on, so a process that is killed leaves them.
TEST(Timeline, rows_begin_with_the_loop_and_are_whole_at_once) {
  SinkRig rig;
  TierMeter& tier = rig.hub.add_tier("data", "posix", false);
  const auto sink = rig.make("{type: timeline, seconds: 0.05}");
  tier.finished(TierOp::read, Clock::now(), 1'000'000);  // before the loop: in no row
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_EQ(rig.run.read("timeline.csv"), "");
  rig.hub.run().set_phase(RunPhase::train);
  tier.finished(TierOp::read, Clock::now(), 2'000'000);
  while (std::ranges::count(rig.run.read("timeline.csv"), '\n') < 3) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  sink->flush();
  std::istringstream text(rig.run.read("timeline.csv"));
  std::string header;
  std::getline(text, header);
  EXPECT_TRUE(
      header.starts_with("t_s,unix_s,images_per_s,device_observed_s,device_busy,idle_data,"))
      << header;
  const auto names = std::ranges::count(header, ',');
  double before = 0;
  double megabytes = 0;
  const auto column = std::ranges::count(header.substr(0, header.find("data.read_mb_per_s")), ',');
  for (std::string line; std::getline(text, line);) {
    EXPECT_EQ(std::ranges::count(line, ','), names);
    std::istringstream row(line);
    std::string field;
    double t = 0;
    for (long i = 0; std::getline(row, field, ','); ++i) {
      if (i == 0) t = std::stod(field);
      if (i == column) megabytes += std::stod(field) * (t - before);
    }
    before = t;
  }
  EXPECT_NEAR(megabytes, 2, 0.05);
}

TEST(Timeline, a_run_that_never_began_leaves_no_row) {
  SinkRig rig;
  const auto sink = rig.make("{type: timeline}");
  sink->flush();
  EXPECT_EQ(rig.run.read("timeline.csv"), "");
}

}  // namespace
}  // namespace stoker
