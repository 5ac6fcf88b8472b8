
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "io/metrics/loader_meter.h"

namespace stoker {
namespace {

using std::chrono::microseconds;

TEST(SlowSamples, keeps_the_slowest_in_order) {
  SlowSamples slow;
  for (int64_t i = 0; i < 1000; ++i) {
    slow.add(microseconds((i * 7919) % 1000), 10, {2, i});
  }
  std::vector<SlowSample> all;
  slow.append_to(all);
  ASSERT_EQ(all.size(), SlowSamples::kKept);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(all[i].seconds, 1e-6 * static_cast<double>(999 - i), 1e-9);
    EXPECT_EQ(all[i].sample.epoch, 2);
    EXPECT_EQ((all[i].sample.index * 7919) % 1000, static_cast<int64_t>(999 - i));
  }
}

TEST(SlowSamples, those_of_all_threads_are_merged_by_stage) {
  Tracer tracer;
  LoaderMeter meter("train", tracer);
  const TimePoint begin{};
  {
    std::vector<std::jthread> threads;
    for (int64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int64_t i = 1; i <= 100; ++i) {
          const auto took = microseconds(4 * i + t);
          meter.finished(Stage::read, begin, begin + took, 7, {0, 1000 * t + i});
          meter.finished(Stage::decode, begin, begin + took / 2, 7, {0, 1000 * t + i});
        }
      });
    }
  }
  const std::vector<SlowSample> slowest = meter.slowest(Stage::read);
  ASSERT_EQ(slowest.size(), SlowSamples::kKept);
  EXPECT_EQ(slowest[0].sample.index, 3100);
  EXPECT_EQ(slowest[1].sample.index, 2100);
  EXPECT_EQ(slowest[4].sample.index, 3099);
  EXPECT_NEAR(meter.slowest(Stage::decode)[0].seconds, 201e-6, 1e-6);
  EXPECT_EQ(meter.state().stages[0].count, 400);
}

}  // namespace
}  // namespace stoker
