#include "app/tools/sweep/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/tools/sweep/plan.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SweepOptions options_from(const std::string& name, const std::string& text,
                          const std::vector<std::string>& words) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return read_sweep(path, words);
}

SweepOptions grid_options(const std::vector<std::string>& words) {
  return options_from("trial.yaml", "dataset: {type: synthetic}\n", words);
}

constexpr const char* kTwoAxes = R"(
name: trial
base: base.yaml
matrix:
  loader.workers: [1, 2]
  tier:
    hdd: [storage.data.profile=hdd]
    ssd: [storage.data.profile=ssd]
)";

SweepOptions two_axes(const std::vector<std::string>& words) {
  return options_from("sweep.yaml", kTwoAxes, words);
}

SweepPlan grid_plan(const SweepOptions& options) {
  return plan_sweep(options, [](const SweepCell&) { return CellExperiment{}; });
}

TEST(Grid, values_are_what_stands_between_commas_outside_of_brackets) {
  EXPECT_THAT(values_in("1,2,4"), ElementsAre("1", "2", "4"));
  EXPECT_THAT(values_in("[1, 2],[3]"), ElementsAre("[1, 2]", "[3]"));
  EXPECT_THAT(values_in("{type: a, b: 1}, \"x,y\""), ElementsAre("{type: a, b: 1}", "\"x,y\""));
  EXPECT_THAT(values_in(""), ElementsAre(""));
}

TEST(Grid, an_experiment_with_axes_is_a_sweep) {
  const SweepOptions options = grid_options(
      {"loader.type=sync,prefetched", "loader.workers=1,2,4", "run.seed=5", "repeat=3"});
  EXPECT_EQ(options.name, "trial-loader.type-loader.workers");
  EXPECT_EQ(options.repeat, 3);
  EXPECT_THAT(options.matrix.keys(), ElementsAre("loader.type", "loader.workers"));
  const SweepPlan plan = grid_plan(options);
  ASSERT_EQ(plan.cells.size(), 6u);
  EXPECT_EQ(plan.runs.size(), 18u);
  EXPECT_THAT(plan.cells[1].overrides,
              ElementsAre(testing::Field(&Word::text, "run.seed=5"),
                          testing::Field(&Word::text, "loader.type=sync"),
                          testing::Field(&Word::text, "loader.workers=2")));
}

TEST(Grid, ranks_are_an_axis_of_another_command) {
  const SweepPlan plan = grid_plan(grid_options({"ranks=1,2"}));
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_EQ(plan.cells[1].command.text, "launch");
}

TEST(Grid, an_experiment_without_axes_is_none) {
  EXPECT_THAT(error_of([] { grid_options({"run.seed=5"}); }),
              HasSubstr("this is an experiment, and no sweep: run it by `stoker train"));
}

TEST(Grid, the_name_of_an_axis_may_have_dots) {
  const SweepOptions options = two_axes({"matrix.loader.workers=[1]"});
  EXPECT_THAT(options.matrix.keys(), ElementsAre("loader.workers", "tier"));
  EXPECT_THAT(options.matrix.axes[0].names(), ElementsAre("1"));
  EXPECT_THAT(two_axes({"matrix.loader.batch_size=[8, 16]"}).matrix.keys(),
              ElementsAre("loader.workers", "tier", "loader.batch_size"));
}

TEST(Grid, variants_that_are_named_stay_what_they_are) {
  const SweepOptions options = two_axes({"matrix.tier=[ssd]"});
  ASSERT_THAT(options.matrix.axes[1].names(), ElementsAre("ssd"));
  EXPECT_EQ(options.matrix.axes[1].values[0].settings[0].text, "storage.data.profile=ssd");
}

TEST(Only, a_part_of_the_cells_is_run) {
  const SweepOptions options = two_axes({"repeat=2"});
  SweepPlan plan = grid_plan(options);
  leave_only(plan, options.matrix, {"loader.workers=1", "tier=ssd,hdd"});
  EXPECT_EQ(plan.cells.size(), 4u);
  EXPECT_EQ(plan.runs.size(), 4u);
  EXPECT_EQ(plan.whole, 8u);
  leave_only(plan, options.matrix, {"tier=ssd"});
  EXPECT_EQ(plan.runs.size(), 2u);
}

TEST(Only, what_the_matrix_does_not_have_is_named) {
  const SweepOptions options = two_axes({});
  SweepPlan plan = grid_plan(options);
  const auto refused = [&](const std::string& word) {
    return error_of([&] { leave_only(plan, options.matrix, {word}); });
  };
  EXPECT_THAT(refused("loader.worker=1"), HasSubstr("'loader.worker' is no axis of the matrix"));
  EXPECT_THAT(refused("loader.workers=3"), HasSubstr("'loader.workers' has no value '3'"));
}

}  // namespace
}  // namespace stoker
