#include "io/metrics/tier_meter.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <thread>

namespace stoker {
namespace {

const Tally::Totals& of(const TierMeter::State& state, TierOp op) {
  return state.ops[static_cast<size_t>(op)];
}

TEST(TierMeter, every_operation_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (size_t i = 0; i < kTierOps; ++i) names.insert(to_string(static_cast<TierOp>(i)));
  EXPECT_EQ(names.size(), kTierOps);
}

TEST(TierMeter, counts_by_operation_and_errors_by_errno) {
  Tracer tracer;
  TierMeter meter("data", "posix", false, tracer);
  meter.finished(TierOp::read, Clock::now(), 100);
  meter.finished(TierOp::read, Clock::now(), 20);
  meter.finished(TierOp::sync, Clock::now(), 0);
  meter.failed(TierOp::write, ENOSPC);
  meter.failed(TierOp::write, ENOSPC);
  meter.failed(TierOp::read, 0);
  meter.begin(TierOp::read, Clock::now());
  const TierMeter::State state = meter.state();
  EXPECT_EQ(state.name, "data");
  EXPECT_EQ(state.type, "posix");
  EXPECT_FALSE(state.emulated);
  EXPECT_EQ(of(state, TierOp::read).count, 2);
  EXPECT_EQ(of(state, TierOp::read).bytes, 120);
  EXPECT_EQ(of(state, TierOp::sync).count, 1);
  EXPECT_EQ(of(state, TierOp::write).count, 0);
  EXPECT_EQ(state.errors,
            (decltype(state.errors){{{TierOp::write, ENOSPC}, 2}, {{TierOp::read, 0}, 1}}));
  EXPECT_EQ(state.in_flight, 1);
  meter.end(TierOp::read, Clock::now());
  EXPECT_EQ(meter.state().in_flight, 0);
}

TEST(TierMeter, knows_the_sizes_of_requests_and_the_time_with_one_under_way) {
  Tracer tracer;
  TierMeter meter("data", "posix", false, tracer);
  const TimePoint begin = Clock::now();
  meter.begin(TierOp::read, begin);
  meter.begin(TierOp::read, begin);
  for (const uint64_t bytes : {0, 100, 101, 1 << 20, 2 << 20}) {
    meter.finished(TierOp::read, begin, bytes);
  }
  meter.finished(TierOp::write, begin, 2ull << 30);
  meter.end(TierOp::read, Clock::now());
  meter.end(TierOp::read, Clock::now());
  const TierMeter::State state = meter.state();
  EXPECT_EQ(state.moved[0].sizes, (SizeCounts{2, 1, 0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(state.moved[1].sizes, (SizeCounts{0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_GT(state.moved[0].busy_s, 0);
  EXPECT_LE(state.moved[0].busy_s, seconds(Clock::now() - begin));
  EXPECT_EQ(state.moved[1].busy_s, 0);
}

TEST(TierMeter, conditions_are_kept_once_and_overruns_add_up) {
  Tracer tracer;
  TierMeter meter("data", "direct", false, tracer);
  meter.add_condition("no O_DIRECT here");
  meter.add_condition("no O_DIRECT here");
  meter.overran(std::chrono::milliseconds(3));
  meter.overran(std::chrono::milliseconds(4));
  const TierMeter::State state = meter.state();
  EXPECT_EQ(state.conditions, std::vector<std::string>{"no O_DIRECT here"});
  EXPECT_EQ(state.overruns, 2);
  EXPECT_NEAR(state.overrun_s, 0.007, 1e-9);
}

TEST(TierMeter, merges_its_threads) {
  Tracer tracer;
  TierMeter meter("data", "posix", true, tracer);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 1000; ++n) meter.finished(TierOp::read, Clock::now(), 3);
        meter.failed(TierOp::read, EIO);
      });
    }
    EXPECT_LE(of(meter.state(), TierOp::read).count, 8000);
  }
  const TierMeter::State state = meter.state();
  EXPECT_EQ(of(state, TierOp::read).count, 8000);
  EXPECT_EQ(of(state, TierOp::read).bytes, 24000);
  EXPECT_EQ(state.errors.at({TierOp::read, EIO}), 8);
  EXPECT_TRUE(state.emulated);
}

TEST(TierMeter, an_operation_is_an_event_of_its_tier) {
  Tracer tracer;
  std::vector<TraceEvent> events;
  TierMeter meter("archive", "posix", false, tracer);
  const TimePoint begin = Clock::now();
  meter.finished(TierOp::open, begin, 0);
  auto subscription = tracer.subscribe({}, [&](const TraceRow& row) {
    events.insert(events.end(), row.events.begin(), row.events.end());
  });
  const TimePoint later = Clock::now();
  meter.finished(TierOp::write, later, 7);
  subscription.reset();
  ASSERT_EQ(events.size(), 1);
  EXPECT_STREQ(events[0].name, "write");
  EXPECT_STREQ(events[0].category, "storage");
  EXPECT_STREQ(events[0].tier, "archive");
  EXPECT_EQ(events[0].begin, later);
  EXPECT_GE(events[0].end, later);
  EXPECT_EQ(events[0].bytes, 7);
}

}  // namespace
}  // namespace stoker
