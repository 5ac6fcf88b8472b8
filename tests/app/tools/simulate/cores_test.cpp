#include <gtest/gtest.h>

#include <map>

#include "app/tools/simulate/machine.h"
#include "tests/app/tools/simulate/simulations.h"

// Cases that can be calculated by hand. 10 steps of 4 samples, decoding 10 ms, a step 100 ms.

namespace stoker {
namespace {

constexpr SimTime kMs = 1'000'000;

// When each owner's job ends, of jobs {begin, work} on one node.
std::map<uint32_t, double> ends(double cores, const std::vector<std::pair<int, int>>& jobs) {
  SimulatedMachine machine;
  machine.cores = cores;
  EventQueue events;
  SimulatedCores shared(machine, events);
  std::map<uint32_t, double> result;
  const auto happen = [&] {
    const SimEvent event = events.take();
    if (const auto owner = shared.go_on(event.who, event.time)) {
      result[*owner] = static_cast<double>(event.time) / kMs;
    }
  };
  for (size_t i = 0; i < jobs.size(); ++i) {
    const SimTime begin = jobs[i].first * kMs;
    while (!events.empty() && events.next_time() <= begin) happen();
    shared.begin(begin, 0, jobs[i].second * kMs, static_cast<uint32_t>(i));
  }
  while (!events.empty()) happen();
  return result;
}

TEST(SimulatedCores, threads_with_a_core_each_do_not_meet) {
  const auto all = ends(2, {{0, 10}, {0, 20}, {12, 5}});
  EXPECT_NEAR(all.at(0), 10, 1e-3);
  EXPECT_NEAR(all.at(1), 20, 1e-3);
  EXPECT_NEAR(all.at(2), 17, 1e-3);
}

TEST(SimulatedCores, more_threads_than_cores_share_them_equally) {
  const auto equal = ends(2, {{0, 10}, {0, 10}, {0, 10}, {0, 10}});
  for (const auto& [owner, end] : equal) EXPECT_NEAR(end, 20, 1e-3) << owner;
  // Three on one core: 5 ms each until 15, then two share it until the next has its 10 at 25.
  const auto parts = ends(1, {{0, 5}, {0, 10}, {0, 20}});
  EXPECT_NEAR(parts.at(0), 15, 1e-3);
  EXPECT_NEAR(parts.at(1), 25, 1e-3);
  EXPECT_NEAR(parts.at(2), 35, 1e-3);
}

TEST(SimulatedCores, who_comes_later_slows_down_those_that_compute) {
  const auto all = ends(1, {{0, 10}, {5, 10}});
  EXPECT_NEAR(all.at(0), 15, 1e-3);  // 5 alone, then 5 at half speed
  EXPECT_NEAR(all.at(1), 20, 1e-3);
}

TEST(SimulatedCores, a_part_of_a_core_is_a_slower_one) {
  EXPECT_NEAR(ends(0.5, {{0, 10}}).at(0), 20, 1e-3);
}

// Ranks that decode for themselves got faster by their number alone, on however few cores.
TEST(SimulationOfCores, ranks_on_too_few_cores_decode_no_faster_than_these) {
  SmallSimulation small{.loader = "{type: prefetched, batch_size: 4, workers: 4}"};
  small.step_ms = 1;
  small.machine = "ranks_per_node: 4, cores: 2, ";
  const SimulationResult two = small.run();
  // 40 samples of 10 ms on two cores.
  EXPECT_NEAR(two.wall_s, 40 * 0.01 / 2, 0.02);
  EXPECT_NEAR(two.busy_cores(), 2, 0.5);
  small.machine = "ranks_per_node: 4, cores: 64, ";
  const double many = small.run().wall_s;
  small.machine = "ranks_per_node: 4, ";
  EXPECT_NEAR(many, small.run().wall_s, 1e-6);  // as if there were no limit
}

TEST(SimulationOfCores, enough_of_them_change_nothing) {
  for (const char* loader : {"sync", "threaded", "prefetched"}) {
    SmallSimulation small{
        .loader = std::string("{type: ") + loader + ", batch_size: 4, workers: 2}",
        .data = "tier: data, "};
    const std::string tier = "storage: {data: {read_mb_per_s: 100, write_mb_per_s: 100}}, ";
    small.machine = tier;
    const SimulationResult before = small.run();
    small.machine = tier + "cores: 8, ";
    const SimulationResult after = small.run();
    EXPECT_NEAR(after.wall_s, before.wall_s, 1e-6) << loader;
    EXPECT_NEAR(after.decode_s, before.decode_s, 1e-6) << loader;
    EXPECT_NEAR(after.core_s, before.core_s, 1e-6) << loader;
  }
}

TEST(SimulationOfCores, a_step_that_cores_compute_takes_them_from_the_loader) {
  SmallSimulation small{.loader = "{type: sync, batch_size: 4}", .costs = "step_cores: 2, "};
  small.machine = "cores: 1, ";
  // Two threads on one core take twice as long; the loader has it to itself meanwhile.
  EXPECT_NEAR(small.run().wall_s, 10 * (0.04 + 0.2), 1e-6);
  small.machine = "cores: 2, ranks_per_node: 4, ";
  // Eight threads on two cores; each rank decodes one sample, four at a time on two cores.
  EXPECT_NEAR(small.run().wall_s, 10 * (0.02 + 0.4), 1e-6);
  EXPECT_NEAR(small.run().busy_cores(), 2, 1e-3);
}

TEST(SimulationOfCores, who_waits_for_something_else_needs_none) {
  SmallSimulation small{.loader = "{type: sync, batch_size: 4}",
                        .costs = "core_share: 0.1, ",
                        .machine = "cores: 2, ranks_per_node: 4, "};
  // Four threads of 1 ms on two cores, and 9 ms beside that.
  EXPECT_NEAR(small.run().wall_s, 10 * (0.002 + 0.009 + 0.1), 1e-6);
  EXPECT_NEAR(small.run().core_s, 40 * 0.001, 1e-6);
}

TEST(SimulationOfCores, what_a_run_needs_is_known_without_a_limit) {
  SmallSimulation small{.loader = "{type: sync, batch_size: 4}", .costs = "host_ms: 20, "};
  const SimulationResult result = small.run();
  EXPECT_NEAR(result.core_s, 40 * 0.01 + 10 * 0.02, 1e-6);
  EXPECT_NEAR(result.busy_cores(), result.core_s / result.wall_s, 1e-9);
}

}  // namespace
}  // namespace stoker
