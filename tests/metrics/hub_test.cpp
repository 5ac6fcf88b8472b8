#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "io/metrics/record/run_record.h"

namespace stoker {
namespace {

double of(const Hub& hub, Overhead part) {
  return hub.record().overhead_s[static_cast<size_t>(part)];
}

TEST(Hub, every_overhead_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (size_t i = 0; i < kOverheads; ++i) names.insert(to_string(static_cast<Overhead>(i)));
  EXPECT_EQ(names.size(), kOverheads);
}

TEST(Hub, has_the_loaders_of_both_splits_and_the_tiers_in_order) {
  Hub hub;
  TierMeter& data = hub.add_tier("data", "posix", false);
  hub.add_tier("archive", "emulated", true);
  for (int i = 0; i < 100; ++i) hub.add_tier("tier" + std::to_string(i), "memory", false);
  data.finished(TierOp::read, Clock::now(), 5);
  const std::vector<TierMeter::State> tiers = hub.tiers();
  ASSERT_EQ(tiers.size(), 102);
  EXPECT_EQ(tiers[0].name, "data");
  EXPECT_EQ(tiers[0].ops[static_cast<size_t>(TierOp::read)].bytes, 5);
  EXPECT_EQ(tiers[1].name, "archive");
  EXPECT_TRUE(tiers[1].emulated);
  const std::vector<LoaderMeter::State> loaders = hub.record().loaders;
  ASSERT_EQ(loaders.size(), 2);
  EXPECT_EQ(loaders[0].split, "train");
  EXPECT_EQ(loaders[1].split, "test");
}

TEST(Hub, adds_up_what_measuring_cost) {
  Hub hub;
  EXPECT_EQ(of(hub, Overhead::step), 0);
  hub.add_overhead(Overhead::step, std::chrono::seconds(1));
  hub.add_overhead(Overhead::step, std::chrono::milliseconds(500));
  EXPECT_DOUBLE_EQ(of(hub, Overhead::step), 1.5);
  EXPECT_EQ(of(hub, Overhead::scrape), 0);
  { const MeasuringScope scope(hub, Overhead::scrape); }
  EXPECT_GT(of(hub, Overhead::scrape), 0);
}

TEST(Hub, counts_spans_and_prices_them) {
  Hub hub;
  EXPECT_EQ(of(hub, Overhead::spans), 0);
  TierMeter& tier = hub.add_tier("data", "posix", false);
  for (int i = 0; i < 10; ++i) tier.finished(TierOp::read, Clock::now(), 1);
  const double ten_operations = of(hub, Overhead::spans);
  EXPECT_GT(ten_operations, 0);
  for (int i = 0; i < 10; ++i) tier.finished(TierOp::write, Clock::now(), 1);
  EXPECT_DOUBLE_EQ(of(hub, Overhead::spans), 2 * ten_operations);
  hub.test_loader().finished(Stage::decode, Clock::now(), Clock::now());
  EXPECT_GT(of(hub, Overhead::spans), 2 * ten_operations);
}

TEST(Hub, its_parts_share_a_tracer) {
  Hub hub;
  std::vector<std::string> categories;
  auto subscription = hub.tracer().subscribe({}, [&](const TraceRow& row) {
    for (const TraceEvent& event : row.events) categories.emplace_back(event.category);
  });
  const TimePoint now = Clock::now();
  hub.add_tier("data", "posix", false).finished(TierOp::read, now, 1);
  hub.train_loader().finished(Stage::read, now, now);
  hub.test_loader().finished(Stage::read, now, now);
  hub.checkpoints().finished(CheckpointPart::write, now, now, 1);
  subscription.reset();
  EXPECT_EQ(categories, (std::vector<std::string>{"storage", "loader", "loader", "checkpoint"}));
}

TEST(Hub, is_read_while_components_come_and_write) {
  Hub hub;
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      EXPECT_LE(hub.tiers().size(), 50);
      EXPECT_GE(of(hub, Overhead::spans), 0);
    }
  });
  for (int i = 0; i < 50; ++i) {
    TierMeter& tier = hub.add_tier("tier" + std::to_string(i), "memory", false);
    for (int n = 0; n < 100; ++n) tier.finished(TierOp::read, Clock::now(), 1);
    hub.add_overhead(Overhead::step, std::chrono::microseconds(1));
  }
  EXPECT_EQ(hub.tiers().size(), 50);
}

}  // namespace
}  // namespace stoker
