#include "io/metrics/loader_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <latch>
#include <set>
#include <thread>

#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

using std::chrono::milliseconds;

const Tally::Totals& of(const LoaderMeter::State& state, Stage stage) {
  return state.stages[static_cast<size_t>(stage)];
}

TEST(LoaderMeter, every_stage_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (size_t i = 0; i < kStages; ++i) names.insert(stage_name(static_cast<Stage>(i)));
  EXPECT_EQ(names.size(), kStages);
}

TEST(LoaderMeter, sums_stages_over_its_threads) {
  Tracer tracer;
  LoaderMeter meter("train", tracer);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const TimePoint begin{};
        for (int n = 0; n < 1000; ++n) {
          meter.finished(Stage::read, begin, begin + milliseconds(1), 10);
          meter.finished(Stage::decode, begin, begin + milliseconds(2), 10);
        }
      });
    }
    EXPECT_LE(of(meter.state(), Stage::read).count, 4000);
  }
  const LoaderMeter::State state = meter.state();
  EXPECT_EQ(state.split, "train");
  EXPECT_EQ(of(state, Stage::read).count, 4000);
  EXPECT_DOUBLE_EQ(of(state, Stage::read).seconds(), 4);
  EXPECT_EQ(of(state, Stage::read).bytes, 40000);
  EXPECT_DOUBLE_EQ(of(state, Stage::decode).seconds(), 8);
  EXPECT_EQ(of(state, Stage::copy).count, 0);
}

TEST(LoaderMeter, counts_bad_samples_by_reason) {
  Tracer tracer;
  LoaderMeter meter("train", tracer);
  meter.failed("io");
  meter.failed("io");
  meter.failed("corrupt");
  meter.skipped("corrupt");
  meter.tolerated();
  EXPECT_EQ(meter.state().errors, (std::map<std::string, int64_t>{{"corrupt", 1}, {"io", 2}}));
  EXPECT_EQ(meter.state().skipped, (std::map<std::string, int64_t>{{"corrupt", 1}}));
  EXPECT_EQ(meter.state().tolerated, 1);
}

TEST(LoaderMeter, knows_its_workers_and_who_is_busy) {
  Tracer tracer;
  LoaderMeter meter("train", tracer);
  std::latch working(3), looked_at(1);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        LoaderMeter::Worker worker(meter);
        worker.set_busy(true);
        worker.set_busy(true);
        if (i == 0) worker.set_busy(false);
        working.arrive_and_wait();
        looked_at.wait();
      });
    }
    working.arrive_and_wait();
    EXPECT_EQ(meter.state().workers, 2);
    EXPECT_EQ(meter.state().busy, 1);
    looked_at.count_down();
  }
  EXPECT_EQ(meter.state().workers, 0);
  EXPECT_EQ(meter.state().busy, 0);
}

TEST(LoaderMeter, says_what_storage_delivered_where_the_kernel_says_it) {
  Tracer tracer;
  LoaderMeter meter("train", tracer);
  std::jthread([&] { const LoaderMeter::Worker worker(meter); }).join();
  EXPECT_EQ(meter.state().storage_bytes.has_value(), thread_read_bytes(::gettid()).has_value());
}

TEST(LoaderMeter, the_queue_before_the_trainer_is_the_devices_if_there_is_one) {
  Tracer tracer;
  LoaderMeter meter("train", tracer);
  EXPECT_EQ(meter.queue_fill(), std::nullopt);
  const auto ready = meter.add_queue("ready", 4);
  ready->put();
  EXPECT_EQ(meter.queue_fill(), 0.25);
  auto device = meter.add_queue("device", 2);
  device->put();
  EXPECT_EQ(meter.queue_fill(), 0.5);
  EXPECT_EQ(meter.state().queues.size(), 2);
  device.reset();
  EXPECT_EQ(meter.queue_fill(), 0.25);
  EXPECT_EQ(meter.state().queues.size(), 1);
}

TEST(LoaderMeter, a_new_queue_takes_the_place_of_its_namesake) {
  Tracer tracer;
  LoaderMeter meter("train", tracer);
  const auto old = meter.add_queue("ready", 4);
  old->put();
  const auto fresh = meter.add_queue("ready", 8);
  ASSERT_EQ(meter.state().queues.size(), 1);
  EXPECT_EQ(meter.state().queues[0].capacity, 8);
  EXPECT_EQ(meter.queue_fill(), 0);
}

TEST(LoaderMeter, a_stage_is_an_event) {
  Tracer tracer;
  std::vector<TraceEvent> events;
  LoaderMeter meter("train", tracer);
  auto subscription = tracer.subscribe({}, [&](const TraceRow& row) {
    events.insert(events.end(), row.events.begin(), row.events.end());
  });
  const TimePoint begin = Clock::now();
  meter.finished(Stage::decode, begin, begin + milliseconds(1), 5);
  subscription.reset();
  ASSERT_EQ(events.size(), 1);
  EXPECT_STREQ(events[0].name, "decode");
  EXPECT_STREQ(events[0].category, "loader");
  EXPECT_EQ(events[0].end - events[0].begin, milliseconds(1));
  EXPECT_EQ(events[0].bytes, 5);
}

}  // namespace
}  // namespace stoker
