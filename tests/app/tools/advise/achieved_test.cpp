#include "app/tools/advise/achieved.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

std::vector<double> epochs_of(const std::string& rows, bool resumed = false) {
  return epoch_seconds(Table::parse("steps,epoch,wall_s\n" + rows, "steps.csv"), 10, resumed);
}

using Seconds = std::vector<double>;

TEST(EpochSeconds, are_those_between_the_steps_that_end_epochs) {
  EXPECT_EQ(epochs_of("5,0,1\n10,0,3\n20,1,4\n"), (Seconds{3, 1}));
}

TEST(EpochSeconds, time_passes_evenly_between_rows) {
  EXPECT_EQ(epochs_of("20,1,4\n40,3,12\n"), (Seconds{2, 2, 4, 4}));
}

TEST(EpochSeconds, leave_out_what_has_no_end_or_no_begin) {
  EXPECT_EQ(epochs_of("10,0,3\n15,1,4\n"), (Seconds{3}));
  EXPECT_EQ(epochs_of("15,1,1\n20,1,2\n30,2,5\n", true), (Seconds{3}));  // resumed in epoch 1
  EXPECT_EQ(epochs_of(""), Seconds{});
}

TEST(RunPace, is_that_of_all_ranks_and_of_all_steps) {
  const ExperimentOptions options;
  const nlohmann::json summary = parse_json(
      R"({"step_duration_s": {"count": 10}, "wall_s": 5, "segments_s": {"data_wait": 1},
          "loaders": {"train": {"stages": {"decode": {"duration_s": {"sum": 2}}}}}})");
  const RunPace one = pace_of(options, summary, 20, 1), two = pace_of(options, summary, 20, 2);
  EXPECT_EQ(one.decode_s, 4);
  EXPECT_EQ(one.rest_s, 8);
  EXPECT_EQ(two.decode_s, 8);
  EXPECT_EQ(two.rest_s, 8);
  EXPECT_EQ(two.readers, 2 * one.readers);
}

TEST(AchievedRun, compares_the_epochs_behind_the_first_with_the_plan) {
  const TemporaryDirectory directory;
  const std::string plan = directory / "plan.json";
  directory.write("plan.json", R"({"predicted": {"epoch_s": 2, "epoch_low_s": 1.9,
                                   "epoch_high_s": 2.1, "unstaged_epoch_s": 4}})");
  RunFiles run;
  run.steps = Table::parse("steps,epoch,wall_s\n10,0,5\n20,1,7.2\n30,2,9.4\n", "steps.csv");
  const AchievedRun achieved = achieved_run(plan, run, 10);
  EXPECT_DOUBLE_EQ(achieved.settled_s(), 2.2);
  EXPECT_NEAR(achieved.error(), 0.1, 1e-9);
  EXPECT_NE(achieved_text(achieved).find("the first epoch took 5.00 s, the 2 behind it 2.20 s"),
            std::string::npos);
  EXPECT_EQ(achieved_json(achieved).at("first_epoch_s"), 5);
  run.steps = {};
  EXPECT_NE(error_of([&] { achieved_run(plan, run, 10); }).find("no epoch of it"),
            std::string::npos);
  directory.write("plan.json", "{}");
  EXPECT_NE(error_of([&] { achieved_run(plan, run, 10); }).find("holds no prediction"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker
