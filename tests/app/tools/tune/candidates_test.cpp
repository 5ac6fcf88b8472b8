#include "app/tools/tune/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/tools/simulate/steady.h"
#include "tests/app/tools/simulate/simulations.h"

namespace stoker {
namespace {

// Steps of 100 ms with 4 samples of 50 ms: two workers, some batches ahead, give all.
SmallSimulation slow_decoding(const std::string& loader = "{type: prefetched, batch_size: 4}") {
  return {.loader = loader, .decode_ms = 50, .step_ms = 100};
}

struct Asked {
  Component<Loader> loader = changed(default_component<Loader>("prefetched"),
                                     {"batch_size=4", "workers=7", "prefetch_batches=3"});
  TuneWay way{"as configured", {}, "", 0, 0, false, false};
  TuneMachine machine;
  TuneData data;

  Asked() {
    machine.inputs = simulation_of(slow_decoding().yaml());
    machine.memory = 1 << 30;
    data.samples = 40;
    data.pixel_bytes = 1000;
  }
  std::vector<TuneCandidate> candidates(size_t number = 0) const {
    return candidates_of(loader, way, number, machine.inputs, machine, data);
  }
};

const TuneCandidate* find_candidate(const std::vector<TuneCandidate>& all,
                                    const std::string& loader, int64_t workers, int64_t prefetch) {
  const auto found = std::ranges::find_if(all, [&](const TuneCandidate& each) {
    return each.loader == loader && each.workers == workers && each.prefetch == prefetch;
  });
  return found == all.end() ? nullptr : &*found;
}

TEST(TuneCandidates, each_has_what_the_simulator_expects_and_its_memory) {
  const std::vector<TuneCandidate> all = Asked().candidates();
  const TuneCandidate* sync = find_candidate(all, "sync", 0, 0);
  const TuneCandidate* two = find_candidate(all, "prefetched", 2, 2);
  ASSERT_TRUE(sync != nullptr && two != nullptr);
  EXPECT_NEAR(sync->predicted, 4 / 0.3, 0.1);
  EXPECT_NEAR(two->predicted, 40, 0.5);
  EXPECT_EQ(two->memory - sync->memory, 2u * 4 * 1000 + 4'000'000);
  // The experiment's own, though neither number is one of the usual ones.
  EXPECT_NE(find_candidate(all, "prefetched", 7, 3), nullptr);
  EXPECT_EQ(find_candidate(all, "device_prefetched", 2, 2), nullptr);
  EXPECT_TRUE(std::ranges::none_of(all, &TuneCandidate::stays));
}

TEST(TuneCandidates, a_device_with_memory_has_more) {
  Asked asked;
  asked.machine.copies = asked.machine.may_stay = true;
  const std::vector<TuneCandidate> all = asked.candidates();
  EXPECT_NE(find_candidate(all, "device_prefetched", 2, 2), nullptr);
  const auto resident = std::ranges::find_if(all, &TuneCandidate::stays);
  ASSERT_NE(resident, all.end());
  EXPECT_EQ(resident->loader, "device_resident");
  EXPECT_NEAR(resident->predicted, 40, 0.5);
}

TEST(TuneCandidates, memory_bounds_them_but_for_the_experiments_own) {
  Asked asked;
  asked.machine.memory = 1000;
  const std::vector<TuneCandidate> all = asked.candidates();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all.front().same(configured_candidate(asked.loader)));
  EXPECT_TRUE(asked.candidates(1).empty());
}

TEST(TuneCandidates, a_loader_without_a_model_has_its_own_type_only) {
  Asked asked;
  asked.machine.inputs.reset();
  for (const TuneCandidate& each : asked.candidates()) EXPECT_EQ(each.predicted, 0);
}

TEST(TuneCandidates, overrides_name_what_the_loader_has_a_use_for) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(loader_overrides({0, "sync", 0, 0}), (Words{"loader.type=sync"}));
  EXPECT_EQ(loader_overrides({0, "threaded", 3, 0}),
            (Words{"loader.type=threaded", "loader.workers=3"}));
  EXPECT_EQ(loader_overrides({0, "prefetched", 3, 2}),
            (Words{"loader.type=prefetched", "loader.workers=3", "loader.prefetch_batches=2"}));
}

TEST(TuneCandidates, kept_samples_cost_no_tier_and_no_decoding) {
  Asked asked;
  TuneWay kept{"kept", {}, "", 1, 40 * 1500, true, true};
  const std::optional<SimulationInputs> inputs = inputs_of(kept, asked.machine);
  ASSERT_TRUE(inputs.has_value());
  EXPECT_FALSE(inputs->options.workload.data.tier.has_value());
  EXPECT_NEAR(inputs->options.workload.costs.decode_ms, 0.001, 1e-6);
}

TEST(Steady, the_fewest_workers_that_hold_and_what_binds) {
  const SimulationInputs inputs = simulation_of(slow_decoding().yaml());
  EXPECT_NEAR(device_rate(inputs), 40, 0.1);
  EXPECT_EQ(workers_at_work(inputs, 40), 2);
  EXPECT_EQ(fewest_workers(inputs, 8, 40).workers, 2);
  EXPECT_EQ(binding_stage(with_workers(inputs, 2)).stage, "device");
  EXPECT_EQ(binding_stage(with_workers(inputs, 1)).stage, "decoding");
  const SimulationInputs few = with_loader(inputs, {"type=prefetched", "workers=1"});
  EXPECT_NEAR(simulate_steady(few).images_per_s, 20, 0.2);
}

TEST(Steady, many_batches_ahead_are_no_part_of_the_rate) {
  const SimulationInputs inputs = simulation_of(slow_decoding().yaml());
  const SimulationInputs deep = with_loader(inputs, {"workers=1", "prefetch_batches=64"});
  EXPECT_NEAR(simulate_steady(deep).images_per_s, 20, 0.5);
}

TEST(Steady, a_thinned_data_set_keeps_its_mean) {
  SimulationInputs inputs = simulation_of(slow_decoding().yaml());
  for (uint64_t i = 0; i < 40; ++i) inputs.sample_bytes.push_back(i);
  inputs = thinned(std::move(inputs), 10);
  EXPECT_EQ(inputs.options.workload.data.samples, 10);
  ASSERT_EQ(inputs.sample_bytes.size(), 10u);
  EXPECT_EQ(inputs.sample_bytes[9], 36u);
}

}  // namespace
}  // namespace stoker
