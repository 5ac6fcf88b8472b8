#include "io/metrics/checkpoint_meter.h"

#include <gtest/gtest.h>

#include <set>

namespace stoker {
namespace {

using std::chrono::milliseconds;

size_t index(CheckpointPart part) { return static_cast<size_t>(part); }

TEST(CheckpointMeter, every_part_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (size_t i = 0; i < kCheckpointParts; ++i) {
    names.insert(to_string(static_cast<CheckpointPart>(i)));
  }
  EXPECT_EQ(names.size(), kCheckpointParts);
}

TEST(CheckpointMeter, says_what_a_drain_may_and_what_was_decided) {
  Tracer tracer;
  CheckpointMeter meter(tracer);
  EXPECT_EQ(meter.state().drain_limit, std::nullopt);
  EXPECT_EQ(meter.state().drain_decisions, std::nullopt);
  meter.set_drain_limit(5e6);
  meter.decided(DrainDecision::lowered);
  EXPECT_EQ(meter.state().drain_limit, 5e6);
  meter.set_drain_slowdown(-0.25);  // faster than usual
  EXPECT_EQ(meter.state().drain_slowdown, 0);
  EXPECT_EQ((*meter.state().drain_decisions)[static_cast<size_t>(DrainDecision::lowered)], 1);
  meter.set_drain_limit(std::numeric_limits<double>::infinity());
  EXPECT_EQ(meter.state().drain_limit, std::nullopt);
}

TEST(CheckpointMeter, keeps_totals_and_the_newest_by_part) {
  Tracer tracer;
  CheckpointMeter meter(tracer);
  const TimePoint begin = Clock::now();
  meter.finished(CheckpointPart::write, begin, begin + milliseconds(500), 10, 100);
  meter.finished(CheckpointPart::write, begin, begin + milliseconds(250), 20, 100);
  const CheckpointMeter::State state = meter.state();
  EXPECT_EQ(state.parts[index(CheckpointPart::write)].count, 2);
  EXPECT_EQ(state.parts[index(CheckpointPart::write)].bytes, 200);
  EXPECT_DOUBLE_EQ(state.parts[index(CheckpointPart::write)].seconds(), 0.75);
  EXPECT_EQ(state.last_s[index(CheckpointPart::write)], 0.25);
  EXPECT_EQ(state.last_s[index(CheckpointPart::drain)], std::nullopt);
  EXPECT_EQ(state.last_save_unix_s, std::nullopt);
  meter.finished(CheckpointPart::save, begin, begin + milliseconds(800), 20);
  EXPECT_GT(meter.state().last_save_unix_s, 1.7e9);
}

TEST(CheckpointMeter, remembers_single_operations_and_what_is_under_way) {
  Tracer tracer;
  CheckpointMeter meter(tracer);
  const TimePoint begin = Clock::now();
  const auto under_way = [&](CheckpointPart part) {
    return meter.state().under_way[static_cast<size_t>(part)];
  };
  {
    const CheckpointMeter::UnderWay drain(&meter, CheckpointPart::drain);
    const CheckpointMeter::UnderWay nobody_watches(nullptr, CheckpointPart::drain);
    EXPECT_EQ(under_way(CheckpointPart::drain), 1);
    EXPECT_EQ(under_way(CheckpointPart::write), 0);
  }
  EXPECT_EQ(under_way(CheckpointPart::drain), 0);
  for (size_t i = 0; i < CheckpointMeter::kMaxOperations + 5; ++i) {
    meter.finished(CheckpointPart::drain, begin, begin + milliseconds(1), static_cast<int64_t>(i),
                   9);
  }
  const auto operations = meter.operations();
  ASSERT_EQ(operations.size(), CheckpointMeter::kMaxOperations);
  EXPECT_EQ(operations.front().step, 5);
  EXPECT_EQ(operations.back().bytes, 9u);
}

TEST(CheckpointMeter, the_status_is_absent_until_it_is_set) {
  Tracer tracer;
  CheckpointMeter meter(tracer);
  EXPECT_FALSE(meter.state().report);
  CheckpointReport report;
  report.saved = 3;
  report.durable_step = 30;
  meter.set_status(report);
  ASSERT_TRUE(meter.state().report);
  EXPECT_EQ(meter.state().report->saved, 3);
  EXPECT_EQ(meter.state().report->durable_step, 30);
}

// The trainer's row shows what blocked it, and `save` overlaps the others.
TEST(CheckpointMeter, the_parts_that_threads_do_are_events) {
  Tracer tracer;
  std::vector<std::string> names;
  CheckpointMeter meter(tracer);
  auto subscription = tracer.subscribe({}, [&](const TraceRow& row) {
    for (const TraceEvent& event : row.events) {
      names.emplace_back(event.name);
      EXPECT_STREQ(event.category, "checkpoint");
      EXPECT_EQ(event.step, 7);
      EXPECT_EQ(event.bytes, 9);
    }
  });
  for (size_t i = 0; i < kCheckpointParts; ++i) {
    const TimePoint now = Clock::now();
    meter.finished(static_cast<CheckpointPart>(i), now, now, 7, 9);
  }
  subscription.reset();
  EXPECT_EQ(names, (std::vector<std::string>{"snapshot", "write", "drain", "restore"}));
}

}  // namespace
}  // namespace stoker
