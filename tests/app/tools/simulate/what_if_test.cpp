#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/tools/simulate/simulate.h"
#include "io/loader/loader_options.h"
#include "tests/app/tools/simulate/simulations.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using testing::HasSubstr;

SimulationInputs small_inputs(const std::string& machine = "") {
  SmallSimulation small{.loader = "{type: prefetched, batch_size: 4, workers: 2}",
                        .data = "tier: data, "};
  small.machine = machine + "storage: {data: {profile: hdd}}, ";
  return simulation_of(small.yaml());
}

std::string refused_knobs(const std::string& knobs, const std::string& machine = "") {
  const auto turn = [&] { turned(small_inputs(machine), knobs); };
  EXPECT_EQ(code_of(turn), ExitCode::config);
  return error_of(turn);
}

TEST(WhatIf, a_factor_is_one_of_speed) {
  const SimulationOptions options =
      turned(small_inputs(), "decode=2x,compute=4x,storage=2x").options;
  EXPECT_DOUBLE_EQ(options.workload.costs.decode_ms, 5);
  EXPECT_DOUBLE_EQ(options.workload.costs.step_ms, 25);
  const TierCosts before = small_inputs().options.machine.storage.at("data").figures.costs();
  const TierCosts after = options.machine.storage.at("data").figures.costs();
  EXPECT_DOUBLE_EQ(after.read_bytes_per_s, 2 * before.read_bytes_per_s);
  EXPECT_NEAR(seconds(after.seek), seconds(before.seek) / 2, 1e-9);
  EXPECT_DOUBLE_EQ(after.queue_depth, before.queue_depth);
}

TEST(WhatIf, ranks_fill_one_node_or_take_more_nodes) {
  EXPECT_EQ(turned(small_inputs(), "ranks=4").options.machine.ranks_per_node, 4);
  const SimulationOptions options =
      turned(small_inputs("nodes: 2, ranks_per_node: 2, "), "ranks=4").options;
  EXPECT_EQ(options.machine.nodes, 2);
  EXPECT_THAT(refused_knobs("ranks=3", "nodes: 2, ranks_per_node: 2, "), HasSubstr("no multiple"));
}

TEST(WhatIf, the_loader_is_turned_as_by_its_options) {
  const SimulationOptions options = turned(small_inputs(), "workers=2x,prefetch=5,batch=8").options;
  const LoaderOptions loader = simulated_loader(options.workload);
  EXPECT_EQ(thread_count(loader.workers), 4);
  EXPECT_EQ(loader.prefetch_batches, 5);
  EXPECT_EQ(loader.batch_size, 8);
}

// 2x and then 4x made 8x of one row.
TEST(WhatIf, a_knob_that_is_named_again_is_another_row) {
  using Rows = std::vector<std::string>;
  EXPECT_EQ(what_ifs("workers=2x,workers=4x"), (Rows{"workers=2x", "workers=4x"}));
  EXPECT_EQ(what_ifs("decode=2x,storage=4x"), (Rows{"decode=2x,storage=4x"}));
  EXPECT_EQ(what_ifs("decode=2x,workers=1,ranks=2,workers=3"),
            (Rows{"decode=2x,workers=1,ranks=2", "decode=2x,workers=3,ranks=2"}));
  EXPECT_EQ(what_ifs("ranks=1,ranks=2,workers=1,workers=2").size(), 4u);
}

TEST(WhatIf, cores_are_a_number) {
  EXPECT_EQ(turned(small_inputs(), "cores=16").options.machine.cores, 16);
  EXPECT_THAT(refused_knobs("cores=2x"), HasSubstr("a whole number"));
}

TEST(WhatIf, what_is_no_knob_or_no_value_is_refused) {
  EXPECT_THAT(refused_knobs("decod=2x"),
              HasSubstr("there is no knob 'decod' (did you mean 'decode'?)"));
  EXPECT_THAT(refused_knobs("decode=2"),
              HasSubstr("decode=2 must be a factor such as 2x, got '2'"));
  EXPECT_THAT(refused_knobs("ranks=2x"), HasSubstr("a whole number"));
  EXPECT_THAT(refused_knobs("ranks=2.5"), HasSubstr("a whole number"));
  EXPECT_THAT(refused_knobs("decode=0x"), HasSubstr("got '0x'"));
  EXPECT_THAT(refused_knobs("decode"), HasSubstr("factor"));
  EXPECT_THAT(refused_knobs("ranks=8"), HasSubstr("at least one sample for each rank"));
}

TEST(WhatIf, turning_decoding_of_a_run_that_waits_for_it_pays) {
  SmallSimulation slow{.loader = "{type: sync, batch_size: 4}"};
  const SimulationInputs inputs = simulation_of(slow.yaml());
  EXPECT_NEAR(simulate_run(turned(inputs, "decode=2x")).wall_s, 10 * (0.02 + 0.1), 1e-9);
}

}  // namespace
}  // namespace stoker
