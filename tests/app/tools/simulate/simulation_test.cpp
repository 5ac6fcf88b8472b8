#include "app/tools/simulate/simulation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/app/tools/simulate/simulations.h"

// Cases that can be calculated by hand. 10 steps of 4 samples: reading is 1 MB, decoding 10 ms, a
// step 100 ms.

namespace stoker {
namespace {

constexpr double kExact = 1e-9;
// 100 MB/s: a sample takes 10 ms of the tier's pipe.
constexpr const char* kTier = "storage: {data: {read_mb_per_s: 100, write_mb_per_s: 100}}, ";

TEST(Simulation, one_synchronous_rank_takes_the_sum) {
  const SimulationResult result = SmallSimulation{}.run();
  EXPECT_EQ(result.steps, 10);
  EXPECT_EQ(result.images, 40);
  EXPECT_NEAR(result.wall_s, 10 * (0.04 + 0.1), kExact);
  EXPECT_NEAR(result.data_wait_s, 0.4, kExact);
  EXPECT_NEAR(result.busy_s, 1.0, kExact);
  EXPECT_NEAR(result.idle_s[0], 0.4, kExact);
  EXPECT_NEAR(result.idle_share(), 0.4 / 1.4, kExact);
  EXPECT_NEAR(result.images_per_s(), 40 / 1.4, 1e-6);
}

TEST(Simulation, workers_share_a_batch) {
  SmallSimulation small{.loader = "{type: threaded, batch_size: 4, workers: 2}"};
  EXPECT_NEAR(small.run().wall_s, 10 * (0.02 + 0.1), kExact);
  small.loader = "{type: threaded, batch_size: 4, workers: 3}";
  EXPECT_NEAR(small.run().wall_s, 10 * (0.02 + 0.1), kExact);  // the fourth sample is alone
  small.loader = "{type: threaded, batch_size: 4, workers: 8}";
  EXPECT_NEAR(small.run().wall_s, 10 * (0.01 + 0.1), kExact);
}

TEST(Simulation, read_ahead_takes_the_slower_of_both) {
  SmallSimulation small{.loader = "{type: prefetched, batch_size: 4, workers: 2}"};
  EXPECT_NEAR(small.run().wall_s, 0.02 + 10 * 0.1, kExact);
  small.costs = "read_ms: 90, ";  // a batch takes two workers 200 ms
  const SimulationResult slow = small.run();
  EXPECT_NEAR(slow.wall_s, 10 * 0.2 + 0.1, kExact);
  EXPECT_NEAR(slow.data_wait_s, 0.2 + 9 * 0.1, kExact);
  EXPECT_NEAR(slow.read_s, (40 + 8) * 0.09, kExact);  // with two batches that nobody asked for
}

TEST(Simulation, a_bounded_queue_holds_no_more_than_its_batches) {
  // A stall of 1 s, by a checkpoint: what was made meanwhile is no more than what the queue holds.
  SmallSimulation small{
      .loader = "{type: prefetched, batch_size: 4, workers: 1, prefetch_batches: 2}",
      .costs = "read_ms: 40, "};  // 200 ms a batch, 100 ms a step
  small.workload =
      "checkpoint: {type: direct, slow: slow, every_steps: 5}, set: {bytes: 1000, overhead_ms: "
      "1000}, ";
  small.machine = "storage: {slow: {read_mb_per_s: 1e6, write_mb_per_s: 1e6}}, ";
  const double two = small.run().wall_s;
  small.loader = "{type: prefetched, batch_size: 4, workers: 1, prefetch_batches: 4}";
  const double four = small.run().wall_s;
  // Two batches more in the queue: each saves the 100 ms that the trainer would have waited for it.
  EXPECT_NEAR(two - four, 2 * 0.1, 1e-6);
}

TEST(Simulation, a_tier_is_shared_by_all_ranks) {
  SmallSimulation small{.loader = "{type: prefetched, batch_size: 4, workers: 1}",
                        .data = "tier: data, ",
                        .machine = kTier,
                        .decode_ms = 0};
  // Of one rank: a sample each 10 ms, by the pipe alone, beside the steps.
  EXPECT_NEAR(small.run().wall_s, 0.04 + 10 * 0.1, kExact);
  // Steps of 1 ms: the pipe is all there is, for one rank as for four.
  small.step_ms = 1;
  EXPECT_NEAR(small.run().wall_s, 40 * 0.01 + 0.001, kExact);
  small.machine = std::string(kTier) + "ranks_per_node: 4, ";
  const SimulationResult four = small.run();
  EXPECT_EQ(four.images, 40);
  EXPECT_NEAR(four.wall_s, 40 * 0.01 + 0.001, kExact);
}

TEST(Simulation, stripes_are_devices_of_their_own) {
  SmallSimulation small{.loader = "{type: sync, batch_size: 4}", .data = "tier: data, "};
  small.machine =
      "storage: {data: {read_mb_per_s: 100, write_mb_per_s: 100, stripes: 4, stripe_count: 4, "
      "stripe_bytes: 1000}}, ";
  EXPECT_NEAR(small.run().wall_s, 10 * (4 * (0.0025 + 0.01) + 0.1), 1e-6);
}

TEST(Simulation, a_second_epoch_comes_from_the_page_cache) {
  SmallSimulation small{.loader = "{type: sync, batch_size: 4}", .data = "tier: data, "};
  small.workload = "epochs: 2, ";
  const std::string cache = "page_cache_mb_per_s: 1000, page_cache: ";
  small.machine = std::string(kTier) + cache + "40000000, ";
  const SimulationResult all = small.run();
  ASSERT_EQ(all.epochs_s.size(), 2u);
  EXPECT_NEAR(all.epochs_s[0], 10 * (4 * 0.02 + 0.1), 1e-6);
  EXPECT_NEAR(all.epochs_s[1], 10 * (4 * 0.011 + 0.1), 1e-6);
  EXPECT_EQ(all.cached_bytes, 40'000'000u);
  small.machine = kTier;
  EXPECT_NEAR(small.run().epochs_s[1], 10 * (4 * 0.02 + 0.1), 1e-6);
}

// The study's finding: with local shuffle later epochs are read from the node's cache.
TEST(Simulation, files_of_a_rank_stay_in_its_cache_with_local_shuffle_alone) {
  SmallSimulation small{.loader = "{type: sync, batch_size: 4, order: local_files}",
                        .data = "tier: data, samples_per_file: 5, whole_files: true, "};
  small.workload = "epochs: 3, ";
  small.machine = std::string(kTier) + "nodes: 4, page_cache: 10000000, page_cache_mb_per_s: 1e6, ";
  const SimulationResult local = small.run();
  small.loader = "{type: sync, batch_size: 4, order: global_files}";
  const SimulationResult global = small.run();
  EXPECT_EQ(local.read_bytes, 40'000'000u);  // each file once
  EXPECT_GT(global.read_bytes, 60'000'000u);
  EXPECT_LT(local.read_s, global.read_s);
}

TEST(Simulation, the_slowest_rank_ends_a_step) {
  SmallSimulation small{.machine = "ranks_per_node: 4, "};
  small.costs = "step_stdev: 0.5, ";
  const SimulationResult result = small.run();
  EXPECT_NEAR(result.wall_s, 10 * 0.01 + result.busy_s + result.idle_s[3], 1e-6);
  EXPECT_GT(result.idle_s[3], 0.1);  // peers
  EXPECT_NEAR(result.wall_s, result.busy_s + result.idle(), 1e-6);
}

TEST(Simulation, gradients_are_exchanged_on_a_ring) {
  SmallSimulation small;
  small.costs = "gradients: 100000000, ";
  small.machine = "ranks_per_node: 4, network: {gb_per_s: 1, latency_us: 1000}, ";
  // 2 * 3 messages of 1 ms, 2 * 3/4 of the bytes.
  EXPECT_NEAR(small.run().exchange_s, 10 * (0.006 + 0.15), 1e-6);
  small.machine = "ranks_per_node: 4, network: {gb_per_s: 1, latency_us: 1000, overlap: 1}, ";
  EXPECT_NEAR(small.run().exchange_s, 10 * (0.006 + 0.15 - 0.1), 1e-6);
}

TEST(Simulation, steps_that_are_submitted_ahead_hide_the_host) {
  SmallSimulation small;
  small.costs = "host_ms: 5, queue_depth: 2, ";
  const SimulationResult ahead = small.run();
  EXPECT_NEAR(ahead.wall_s, 0.04 + 10 * 0.1, 1e-6);
  small.costs = "host_ms: 5, ";
  EXPECT_NEAR(small.run().wall_s, 10 * (0.04 + 0.1 + 0.005), 1e-6);
}

TEST(Simulation, copies_to_the_device_are_hidden_by_the_loader_that_copies_ahead) {
  SmallSimulation small{.loader = "{type: prefetched, batch_size: 4, workers: 2}",
                        .costs = "copy_ms: 30, "};
  EXPECT_NEAR(small.run().wall_s, 0.02 + 10 * 0.13, 1e-6);
  small.loader = "{type: device_prefetched, batch_size: 4, workers: 2}";
  EXPECT_NEAR(small.run().wall_s, 0.02 + 0.03 + 10 * 0.1, 1e-6);
}

TEST(Simulation, a_direct_checkpoint_stalls_for_its_tier) {
  SmallSimulation small;
  small.workload =
      "checkpoint: {type: direct, slow: slow, every_steps: 5, threads: 1}, set: {bytes: 80000000, "
      "snapshot_mb_per_s: 1000, operations: 20}, ";
  small.machine =
      "storage: {slow: {read_mb_per_s: 100, write_mb_per_s: 100, metadata_latency_ms: 2}}, ";
  const SimulationResult result = small.run();
  EXPECT_EQ(result.saved, 2);
  EXPECT_NEAR(result.save_s, 0.08 + 20 * 0.002 + 0.8, 1e-6);
  EXPECT_NEAR(result.checkpoint_stall_s, 2 * result.save_s, 1e-6);
  EXPECT_NEAR(result.wall_s, 10 * 0.14 + 2 * result.save_s, 1e-6);
  EXPECT_NEAR(result.idle_s[2], result.save_s, 1e-6);  // after the last step there is none
}

TEST(Simulation, a_burst_buffer_stalls_for_the_fast_tier_and_drains_beside_the_steps) {
  SmallSimulation small;
  small.workload =
      "checkpoint: {type: burst_buffer, fast: fast, slow: slow, every_steps: 5, threads: 1}, set: "
      "{bytes: 80000000, "
      "snapshot_mb_per_s: 1000, operations: 9}, ";
  small.machine =
      "storage: {fast: {read_mb_per_s: 800, write_mb_per_s: 800}, slow: {read_mb_per_s: 200, "
      "write_mb_per_s: 100}}, ";
  const SimulationResult result = small.run();
  EXPECT_EQ(result.saved, 2);
  EXPECT_EQ(result.drained, 2);
  EXPECT_NEAR(result.save_s, 0.08 + 0.1, 1e-6);
  EXPECT_NEAR(result.drain_s, 0.8 + 0.4, 1e-6);  // written, and read back
  // The first set is drained when the second has waited for it: oldest first.
  const double first_drained = 5 * 0.14 + 0.18 + 1.2;
  EXPECT_NEAR(result.flush_s, first_drained + 1.2 - result.wall_s, 1e-6);
  // Copied and read back at the limit.
  small.workload.replace(small.workload.find("threads: 1"), 10, "threads: 1, drain_limit: 40m");
  EXPECT_NEAR(small.run().drain_s, 2 + 2, 1e-6);
}

TEST(Simulation, an_asynchronous_save_stalls_for_its_copy_alone) {
  SmallSimulation small;
  small.workload =
      "checkpoint: {type: direct, slow: slow, snapshot: async, every_steps: 5, threads: 1}, set: "
      "{bytes: 80000000, "
      "snapshot_mb_per_s: 1000, operations: 9}, ";
  small.machine = "storage: {slow: {read_mb_per_s: 100, write_mb_per_s: 100}}, ";
  EXPECT_NEAR(small.run().checkpoint_stall_s, 2 * 0.08, 1e-6);
}

TEST(Simulation, ranks_share_the_writing_of_a_set) {
  SmallSimulation small;
  small.workload =
      "checkpoint: {type: direct, slow: slow, threads: 1}, set: {bytes: 80000000, operations: 9, "
      "snapshot_mb_per_s: 1e6}, ";
  small.machine =
      "ranks_per_node: 4, storage: {slow: {read_mb_per_s: 100, write_mb_per_s: 100, per_node: "
      "false}}, ";
  EXPECT_NEAR(small.run().save_s, 0.8 + 0.00002, 1e-6);  // one tier for all
  small.machine =
      "nodes: 4, storage: {slow: {read_mb_per_s: 100, write_mb_per_s: 100, per_node: true}}, ";
  EXPECT_NEAR(small.run().save_s, 0.2 + 0.00002, 1e-6);
}

TEST(Simulation, is_a_function_of_its_inputs) {
  SmallSimulation small{.loader = "{type: prefetched, batch_size: 4, workers: 2}",
                        .data = "tier: data, "};
  small.workload = "epochs: 3, seed: 7, ";
  small.costs = "step_stdev: 0.3, ";
  const std::string machine =
      "ranks_per_node: 2, storage: {data: {profile: s3-like, stripes: 3}}, ";
  small.machine = machine;
  const SimulationResult first = small.run(), second = small.run();
  EXPECT_EQ(first.wall_s, second.wall_s);
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.idle_s, second.idle_s);
  small.workload = "epochs: 3, seed: 8, ";
  EXPECT_NE(small.run().wall_s, first.wall_s);
}

TEST(Simulation, of_9216_ranks_is_a_matter_of_seconds) {
  const SimulationResult result = simulate_run(simulation_of(
      "workload: {max_steps: 20, loader: {type: prefetched, batch_size: 36864, workers: 2}, "
      "data: {samples: 1000000}, costs: {decode_ms: 1, step_ms: 100}}\n"
      "machine: {nodes: 256, ranks_per_node: 36}\n"));
  EXPECT_EQ(result.ranks, 9216);
  EXPECT_NEAR(result.wall_s, 0.002 + 20 * 0.1, 1e-6);
}

}  // namespace
}  // namespace stoker
