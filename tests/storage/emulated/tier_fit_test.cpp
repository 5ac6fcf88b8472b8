#include "io/storage/emulated/tier_fit.h"

#include <gtest/gtest.h>

#include "io/core/random.h"

namespace stoker {
namespace {

TierFit hard_disk() {
  return {.read_mb_per_s = 163,
          .write_mb_per_s = 133,
          .read_latency_ms = 0.5,
          .write_latency_ms = 0.2,
          .seek_ms = 8,
          .queue_depth = 4};
}
TierFit flash() {
  return {.read_mb_per_s = 3000,
          .write_mb_per_s = 900,
          .read_latency_ms = 0.09,
          .write_latency_ms = 0.02,
          .seek_ms = 0.01,
          .queue_depth = 6};
}

// What `stoker bench storage --fit` measures, on a device that is exactly the model, but for
// `noise`.
std::vector<TierPoint> measure(const TierFit& device, double noise = 0) {
  constexpr uint64_t kSmall = 4096, kLarge = 1 << 20;
  std::vector<TierPoint> points{{.bytes = kSmall}};
  for (const int64_t threads : {1, 2, 4, 8}) {
    points.push_back({.bytes = kLarge, .threads = threads});
    points.push_back({.random = true, .bytes = kSmall, .threads = threads});
    points.push_back({.write = true, .bytes = kLarge, .threads = threads});
  }
  points.push_back({.write = true, .bytes = kSmall});
  Random random(1);
  for (TierPoint& point : points) {
    point.ops_per_s = device.predict(point) * random.uniform(1 - noise, 1 + noise);
  }
  return points;
}

void expect_close(const TierFit& fit, const TierFit& device, double tolerance) {
  EXPECT_NEAR(fit.read_mb_per_s / device.read_mb_per_s, 1, tolerance);
  EXPECT_NEAR(fit.write_mb_per_s / device.write_mb_per_s, 1, tolerance);
  EXPECT_NEAR(fit.read_latency_ms / device.read_latency_ms, 1, tolerance);
  EXPECT_NEAR(fit.write_latency_ms / device.write_latency_ms, 1, tolerance);
  EXPECT_NEAR(fit.seek_ms / device.seek_ms, 1, tolerance);
  EXPECT_EQ(fit.queue_depth, device.queue_depth);
  EXPECT_FALSE(fit.queue_depth_unseen);
}

TEST(TierFit, recovers_the_figures_of_a_device_that_is_the_model) {
  expect_close(fit_tier(measure(hard_disk())), hard_disk(), 0.02);
  expect_close(fit_tier(measure(flash())), flash(), 0.02);
}

TEST(TierFit, noise_of_two_percent_does_not_lead_it_astray) {
  const TierFit fit = fit_tier(measure(hard_disk(), 0.02));
  EXPECT_EQ(fit.queue_depth, 4);
  EXPECT_NEAR(fit.read_mb_per_s, 163, 8);
  EXPECT_NEAR(fit.seek_ms, 8, 0.5);
  for (const TierPoint& point : measure(hard_disk(), 0.02)) {
    EXPECT_NEAR(fit.predict(point) / point.ops_per_s, 1, 0.06);
  }
}

TEST(TierFit, the_model_is_the_smallest_of_three_limits) {
  const TierFit device = hard_disk();
  const auto ops = [&](bool random, uint64_t bytes, int64_t threads) {
    return device.predict({.random = random, .bytes = bytes, .threads = threads});
  };
  EXPECT_NEAR(ops(false, 163'000, 1), 1 / (0.5e-3 + 1e-3), 1e-6);  // one thread waits for all of it
  EXPECT_NEAR(ops(false, 163'000, 8), 1 / 1e-3, 1e-6);             // bandwidth
  EXPECT_NEAR(ops(true, 163, 8), 4 / 8.5e-3, 1e-6);                // queue depth
  EXPECT_NEAR(ops(true, 163, 2), 2 / (8.5e-3 + 1e-6), 1e-6);
}

TEST(TierFit, a_queue_that_was_never_full_is_said_to_be_unseen) {
  TierFit device = flash();
  device.queue_depth = 100;
  const TierFit fit = fit_tier(measure(device));
  EXPECT_TRUE(fit.queue_depth_unseen);
  EXPECT_EQ(fit.queue_depth, 8);  // as many as there were threads
}

TEST(TierFit, reads_alone_are_enough) {
  std::vector<TierPoint> reads;
  for (const TierPoint& point : measure(flash())) {
    if (!point.write) reads.push_back(point);
  }
  const TierFit fit = fit_tier(reads);
  EXPECT_EQ(fit.write_mb_per_s, 0);
  EXPECT_NEAR(fit.read_mb_per_s, 3000, 60);
  EXPECT_EQ(fit.yaml("{type: memory}").find("write"), std::string::npos);
}

TEST(TierFit, its_yaml_has_what_was_found) {
  TierFit device = hard_disk();
  device.metadata_latency_ms = 0.25;
  EXPECT_EQ(device.yaml("{type: memory}"),
            "{type: emulated, read_mb_per_s: 163, write_mb_per_s: 133, read_latency_ms: 0.5, "
            "write_latency_ms: 0.2, metadata_latency_ms: 0.25, seek_ms: 8, queue_depth: 4, inner: "
            "{type: memory}}");
}

}  // namespace
}  // namespace stoker
