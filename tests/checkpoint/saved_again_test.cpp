#include <gtest/gtest.h>

#include "tests/support/checkpoint_run.h"
#include "tests/support/file_layers.h"

// Steps that are saved again: whose set is there then, also where the tier fails meanwhile.

namespace stoker {
namespace {

using Op = FileCall::Op;

TEST(SavedAgain, a_set_that_is_there_is_not_written_over) {
  CheckpointRun run;
  run.start("type: direct, slow: slow, keep_last: 9, every_steps: 1");
  for (const int64_t step : {5, 6, 5}) run.save(step);
  EXPECT_EQ(run.steps("slow"), (Steps{5, 6}));
  EXPECT_NE(run->status().last_error.find(
                "step-0000000005 is there already, and a set is not written over: give each save"),
            std::string::npos)
      << run->status().last_error;
}

TEST(SavedAgain, a_step_that_is_saved_again_takes_the_place_of_its_set) {
  for (const int error : {0, EINVAL}) {  // EINVAL: a file system that exchanges no names
    CheckpointRun run;
    run.slow = {std::make_shared<FaultLayer>(
        Fault{.op = Op::exchange, .times = error == 0 ? 0 : SIZE_MAX, .error = EINVAL})};
    run.start("type: direct, slow: slow, keep_last: 9, every_steps: 1");
    run.save(5), run.save(6);
    EXPECT_TRUE(run.save_again(5));
    EXPECT_TRUE(run.save_again(6));
    EXPECT_TRUE(run->flush());
    EXPECT_EQ(run->status().saved, 4) << run.warnings();
    EXPECT_EQ(run.steps("slow"), (Steps{5, 6}));
    for (const int64_t step : {5, 6}) {
      EXPECT_TRUE(run.is_second("slow", step) && run.intact("slow", step)) << step;
    }
    EXPECT_EQ(run.others("slow"), std::vector<std::string>{});
    EXPECT_EQ(run.warnings(), "");
  }
}

TEST(SavedAgain, a_set_stays_where_the_one_in_its_place_fails) {
  for (const Fault& fault :
       {Fault{.op = Op::exchange, .times = SIZE_MAX, .error = EIO},
        Fault{.op = Op::write, .path = "MANIFEST", .times = SIZE_MAX, .error = ENOSPC},
        // The directory is synced for the names of the set's folder, and for the exchange.
        Fault{.op = Op::sync_directory, .path = "run", .skip = 2, .times = 1, .error = EIO}}) {
    CheckpointRun run;
    run.start("type: direct, slow: slow, keep_last: 9, every_steps: 1");
    run.save(5);
    run.stop();
    const auto layer = std::make_shared<FaultLayer>(fault);
    run.slow = {layer};
    EXPECT_EQ(run.resume("type: direct, slow: slow, keep_last: 9, every_steps: 1, resume: latest"),
              5);
    run.save_again(5);
    EXPECT_TRUE(run.intact("slow", 5)) << run.warnings();
    EXPECT_EQ(run.is_second("slow", 5), run->status().saved == 1) << run.warnings();
    EXPECT_EQ(run.others("slow"), std::vector<std::string>{}) << run.warnings();
  }
}

// Else a power loss could bring back the name of the old set, without some of its files. Of any two
// syncs in a row: one pair is that after the exchange, and that after its return.
TEST(SavedAgain, nothing_is_removed_before_the_names_are_durable_again) {
  const std::string options = "type: direct, slow: slow, keep_last: 9, every_steps: 1";
  size_t kept = 0;
  for (size_t skip = 0; skip < 8; ++skip) {
    CheckpointRun run;
    run.start(options);
    run.save(5);
    const auto syncs = std::make_shared<FaultLayer>(
        Fault{.op = Op::sync_directory, .path = "run", .skip = skip, .times = 2, .error = EIO});
    run.slow = {syncs};
    try {
      run.start(options + ", resume: latest");
    } catch (const Error&) {  // the directory cannot be claimed
      continue;
    }
    run.save_again(5);
    EXPECT_TRUE(run.intact("slow", 5)) << run.warnings();
    EXPECT_EQ(run.is_second("slow", 5), run->status().saved == 1) << run.warnings();
    kept += run.others("slow").size();
    run.slow.clear();
    EXPECT_EQ(run.resume(options + ", resume: latest"), 5);
    EXPECT_EQ(run.others("slow"), std::vector<std::string>{});
  }
  EXPECT_GT(kept, 0U);
}

TEST(SavedAgain, a_step_that_is_saved_again_is_drained_again) {
  CheckpointRun run;
  run.start("type: burst_buffer, fast: fast, slow: slow, keep_last: 9, every_steps: 1");
  run.save(5);
  EXPECT_TRUE(run->flush());
  EXPECT_FALSE(run.is_second("slow", 5));
  run.save_again(5);
  EXPECT_TRUE(run->flush());
  for (const std::string tier : {"fast", "slow"}) {
    EXPECT_TRUE(run.is_second(tier, 5) && run.intact(tier, 5)) << tier;
    EXPECT_EQ(run.others(tier), std::vector<std::string>{}) << tier;
  }
  EXPECT_EQ(run->status().drained, 2);
  EXPECT_EQ(run.warnings(), "");
}

// The copy that is under way is of a set that is gone then.
TEST(SavedAgain, a_step_may_be_saved_again_while_it_is_drained) {
  CheckpointRun run;
  const auto gate = std::make_shared<GateLayer>();
  run.slow = {gate};
  run.start("type: burst_buffer, fast: fast, slow: slow, keep_last: 9, every_steps: 1");
  gate->close();
  run.save(5);
  gate->wait_for_call();
  run.save_again(5);
  gate->open();
  EXPECT_TRUE(run->flush()) << run.warnings();
  EXPECT_TRUE(run.is_second("slow", 5) && run.intact("slow", 5));
  EXPECT_EQ(run.others("slow"), std::vector<std::string>{});
}

}  // namespace
}  // namespace stoker
