#include "app/tools/advise/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "io/core/random.h"

namespace stoker {
namespace {

using std::chrono::milliseconds;

// 10 ms and 100 MB/s: an object of 1 MB takes as long to find as to read.
TierCostModel slow_tier() {
  TierCostModel model;
  model.costs.read_bytes_per_s = 1e8;
  model.costs.read_latency = milliseconds(2);
  model.costs.seek = milliseconds(8);
  model.costs.queue_depth = 2;
  model.error = 0.1;
  return model;
}

TierCostModel fast_tier() {
  TierCostModel model;
  model.costs.read_bytes_per_s = 1e12;
  return model;
}

ObjectUse read_whole(const std::string& key, uint64_t bytes, double times = 1) {
  ObjectUse use;
  use.key = key;
  use.bytes = bytes;
  use.opens = use.requests = use.seeks = times;
  use.bytes_read = times * static_cast<double>(bytes);
  return use;
}

std::string names(const std::vector<ObjectUse>& uses, const Chosen& chosen) {
  std::string text;
  for (const size_t i : chosen) text += uses[i].key;
  return text;
}

TEST(LoadOf, is_what_the_emulated_device_takes) {
  ObjectUse use = read_whole("a", 1'000'000);
  use.requests = 3;  // in two pieces and an empty one
  const TierLoad load = load_of(use, slow_tier());
  EXPECT_DOUBLE_EQ(load.alone_s, 3 * 0.002 + 0.008 + 0.01);
  EXPECT_DOUBLE_EQ(load.slots_s, (3 * 0.002 + 0.008) / 2);
  EXPECT_DOUBLE_EQ(load.pipe_s, 0.008 / 2 + 0.01);
  TierCostModel model = slow_tier();
  model.costs.stream_bytes_per_s = 5e7;
  model.open = milliseconds(1);
  EXPECT_DOUBLE_EQ(load_of(use, model).alone_s, 3 * 0.002 + 0.008 + 0.001 + 0.02);
}

TEST(Predict, is_bound_by_the_readers_then_by_the_tier_then_by_the_trainer) {
  const std::vector<ObjectUse> uses{read_whole("a", 1'000'000), read_whole("b", 1'000'000)};
  RunPace pace;
  const auto seconds = [&](const Chosen& chosen = {}) {
    return predict(StagingCosts(uses, slow_tier(), fast_tier(), pace), chosen).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(), 0.04);
  EXPECT_NEAR(seconds({0}), 0.02, 1e-5);
  EXPECT_NEAR(seconds({0, 1}), 0, 1e-5);
  pace.readers = 100;
  EXPECT_DOUBLE_EQ(seconds(), 2 * (0.004 + 0.01));
  pace.rest_s = 0.5;
  EXPECT_DOUBLE_EQ(seconds(), 0.528);
  pace.overlaps = true;
  EXPECT_DOUBLE_EQ(seconds(), 0.5);
}

TEST(Predict, has_a_band_of_the_models_residuals) {
  const std::vector<ObjectUse> uses{read_whole("a", 1'000'000)};
  const PredictedTime time = predict(StagingCosts(uses, slow_tier(), fast_tier(), {}), {});
  EXPECT_DOUBLE_EQ(time.low, 0.02 / 1.1);
  EXPECT_DOUBLE_EQ(time.high, 0.02 * 1.1);
}

TEST(ChooseBelow, is_smallest_first) {
  const std::vector<ObjectUse> uses{read_whole("a", 500), read_whole("b", 100),
                                    read_whole("c", 300)};
  EXPECT_EQ(names(uses, choose_below(uses, 500, 10'000)), "bc");
  EXPECT_EQ(names(uses, choose_below(uses, 501, 600)), "bc");
  EXPECT_EQ(names(uses, choose_below(uses, 501, 350)), "b");
}

TEST(ChooseMostSaved, of_objects_read_alike_is_smallest_first) {
  std::vector<ObjectUse> uses;
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    uses.push_back(read_whole(std::to_string(i), 1 + random.below(5'000'000)));
  }
  for (const int64_t readers : {1, 16}) {
    const StagingCosts costs(uses, slow_tier(), fast_tier(), {.readers = readers});
    EXPECT_EQ(choose_most_saved(uses, costs, 50'000'000),
              choose_below(uses, UINT64_MAX, 50'000'000));
  }
}

TEST(ChooseMostSaved, leaves_out_what_is_not_read_and_takes_what_is_read_often) {
  const std::vector<ObjectUse> uses{read_whole("a", 100'000, 0), read_whole("b", 200'000, 1),
                                    read_whole("c", 300'000, 10)};
  const StagingCosts costs(uses, slow_tier(), fast_tier(), {});
  EXPECT_EQ(names(uses, choose_most_saved(uses, costs, 300'000)), "c");
  EXPECT_EQ(names(uses, choose_below(uses, UINT64_MAX, 300'000)), "ab");
  EXPECT_EQ(names(uses, choose_most_saved(uses, costs, 10'000'000)), "bc");
}

TEST(ChooseMostSaved, takes_what_is_read_by_small_requests) {
  std::vector<ObjectUse> uses{read_whole("a", 1'000'000), read_whole("b", 2'000'000)};
  uses[1].requests = uses[1].seeks = 100;  // a shard, sample by sample
  const StagingCosts costs(uses, slow_tier(), fast_tier(), {});
  EXPECT_EQ(names(uses, choose_most_saved(uses, costs, 2'000'000)), "b");
}

// Of a queue of one, it makes many readers wait for each other.
TierCostModel narrow_tier() {
  TierCostModel model;
  model.costs.read_bytes_per_s = 1e8;
  model.costs.read_latency = milliseconds(1);
  return model;
}

TEST(ChooseMostSaved, is_never_predicted_to_be_worse_than_the_rule_or_than_nothing) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<ObjectUse> uses;
    for (int i = 0; i < 40; ++i) {
      ObjectUse use = read_whole(std::to_string(i), random.below(3'000'000),
                                 static_cast<double>(random.below(4)));
      use.requests += static_cast<double>(random.below(20));
      uses.push_back(use);
    }
    const TierCostModel slow = random.below(3) == 0 ? narrow_tier() : slow_tier();
    const TierCostModel fast = random.below(2) == 0 ? narrow_tier() : fast_tier();
    const StagingCosts costs(uses, slow, fast,
                             {.readers = 1 + static_cast<int64_t>(random.below(20))});
    const uint64_t capacity = random.below(40'000'000);
    const Chosen own = choose_most_saved(uses, costs, capacity);
    uint64_t bytes = 0;
    for (const size_t i : own) bytes += uses[i].bytes;
    EXPECT_LE(bytes, capacity);
    const double seconds = predict(costs, own).seconds / (1 + 1e-9);
    EXPECT_LE(seconds, predict(costs, choose_below(uses, UINT64_MAX, capacity)).seconds);
    EXPECT_LE(seconds, predict(costs, {}).seconds);
  }
}

}  // namespace
}  // namespace stoker
