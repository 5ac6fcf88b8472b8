#include <gtest/gtest.h>

#include <thread>

#include "tests/support/checkpoint_run.h"

// Tiers that do not answer, and processes that have no time.

namespace stoker {
namespace {

// Long enough for a loaded machine to write to the tier that does answer.
const std::string kHangingDrain =
    "type: burst_buffer, fast: fast, slow: slow, retry_seconds: 0.001, every_steps: 1, "
    "hang_seconds: 2";
const std::string kHangingSave = "type: direct, slow: slow, every_steps: 1, hang_seconds: 0.1";

struct Hang : testing::Test {
  void begin(const std::string& options) {
    run.slow = {gate};
    run.start(options);
    gate->close();
  }
  // Until whoever stood before the gate has noticed that it is open.
  void open_and_flush() {
    gate->open();
    while (!run->flush()) std::this_thread::yield();
  }
  void expect_all_intact(const Steps& steps) {
    EXPECT_EQ(run.steps("slow"), steps);
    for (const int64_t step : steps) EXPECT_TRUE(run.intact("slow", step)) << step;
  }
  const std::shared_ptr<GateLayer> gate = std::make_shared<GateLayer>();
  CheckpointRun run;
};

TEST_F(Hang, of_the_slow_tier_keeps_no_save_waiting) {
  begin(kHangingDrain);
  for (int64_t step = 1; step <= 20; ++step) EXPECT_TRUE(run.save(step));
  EXPECT_EQ(run->status().saved, 20);
  EXPECT_EQ(run->status().failed, 0);
  EXPECT_EQ(run.steps("fast").size(), 20u);
}

TEST_F(Hang, of_the_slow_tier_ends_flush_which_says_what_is_left) {
  begin(kHangingDrain);
  for (int64_t step = 1; step <= 3; ++step) run.save(step);
  EXPECT_FALSE(run->flush());
  const CheckpointStatus status = run->status();
  EXPECT_EQ(status.drains_left, 3);
  EXPECT_EQ(status.saved_step, 3);
  EXPECT_EQ(status.durable_step, std::nullopt);
  EXPECT_TRUE(status.hung);
  EXPECT_TRUE(status.degraded);
}

TEST_F(Hang, of_the_slow_tier_is_made_up_for_without_a_restart) {
  begin(kHangingDrain);
  for (int64_t step = 1; step <= 3; ++step) run.save(step);
  EXPECT_FALSE(run->flush());
  open_and_flush();
  EXPECT_TRUE(run.save(4));
  open_and_flush();
  EXPECT_FALSE(run->status().hung);
  EXPECT_FALSE(run->status().degraded);
  expect_all_intact({1, 2, 3, 4});
}

// A save is no progress of the drain.
TEST_F(Hang, of_the_slow_tier_shows_however_often_the_run_saves) {
  begin(kHangingDrain);
  constexpr int64_t kMany = 100'000;
  int64_t step = 0;
  while (!run->status().hung && step < kMany) run.save(++step);
  EXPECT_LT(step, kMany);
}

TEST_F(Hang, of_the_only_tier_ends_a_sync_save) {
  begin(kHangingSave);
  EXPECT_TRUE(run.save(1));
  EXPECT_EQ(run->status().saved, 0);
  EXPECT_TRUE(run->status().hung);
  EXPECT_NE(
      run.warnings().find("checkpoint of step 1: tier 'slow' does not answer; training goes on"),
      std::string::npos)
      << run.warnings();
}

TEST_F(Hang, of_the_only_tier_fails_saves_when_all_slots_are_taken) {
  begin(kHangingSave);
  EXPECT_TRUE(run.save(1));
  EXPECT_TRUE(run.save(2));
  EXPECT_FALSE(run.save(3));
  EXPECT_EQ(run->status().failed, 1);
  EXPECT_TRUE(run->status().degraded);
  EXPECT_NE(run.warnings().find("checkpoint of step 3 skipped: tier 'slow' does not answer"),
            std::string::npos)
      << run.warnings();
}

TEST_F(Hang, of_the_only_tier_skips_where_the_policy_says_so) {
  begin(kHangingSave + ", on_backlog: skip");
  EXPECT_TRUE(run.save(1));
  EXPECT_TRUE(run.save(2));
  EXPECT_FALSE(run.save(3));
  EXPECT_EQ(run->status().skipped, 1);
  EXPECT_EQ(run->status().failed, 0);
}

TEST_F(Hang, of_the_only_tier_is_made_up_for_without_a_restart) {
  begin(kHangingSave);
  EXPECT_TRUE(run.save(1));
  EXPECT_TRUE(run.save(2));
  EXPECT_FALSE(run.save(3));
  open_and_flush();
  EXPECT_TRUE(run.save(4));
  open_and_flush();  // a busy machine may take longer than hang_seconds
  expect_all_intact({1, 2, 4});
  EXPECT_FALSE(run->status().hung);
  EXPECT_FALSE(run->status().degraded);
}

TEST_F(Hang, of_the_only_tier_ends_an_async_save_and_flush) {
  begin(kHangingSave + ", snapshot: async");
  EXPECT_TRUE(run.save(1));
  EXPECT_TRUE(run.save(2));
  EXPECT_FALSE(run.save(3));
  EXPECT_FALSE(run->flush());
  EXPECT_FALSE(run.offer({.step = 4, .last = true}));
  open_and_flush();
  expect_all_intact({1, 2});
}

// hang_seconds is far away in these.
struct Stop : Hang {};

TEST_F(Stop, ends_flush_with_the_time_that_is_left) {
  begin("type: burst_buffer, fast: fast, slow: slow, every_steps: 1, grace_seconds: 0.05");
  run.save(1);
  run.checkpoints().stop = Clock::now();
  EXPECT_FALSE(run->flush());
  EXPECT_FALSE(run->status().hung);
  EXPECT_EQ(run->status().drains_left, 1);
  EXPECT_EQ(run.steps("fast"), Steps{1});
}

TEST_F(Stop, begins_no_save_that_would_come_too_late) {
  run.start("type: direct, slow: slow, every_steps: 1, grace_seconds: 0");
  EXPECT_TRUE(run.save(1));
  run.checkpoints().stop = Clock::now();
  EXPECT_FALSE(run.offer({.step = 2, .last = true}));
  EXPECT_EQ(run.steps("slow"), Steps{1});
  run->status();
  EXPECT_NE(run.warnings().find("no checkpoint of step 2: checkpoint.grace_seconds had been over "),
            std::string::npos)
      << run.warnings();
}

TEST_F(Stop, that_comes_too_late_for_the_first_save_blames_no_tier) {
  run.start("type: direct, slow: slow, grace_seconds: 5");
  run.checkpoints().stop = Clock::now() - std::chrono::seconds(60);
  EXPECT_FALSE(run.offer({.step = 1, .last = true}));
  EXPECT_TRUE(run->flush());
  const std::string why = "no checkpoint of step 1: checkpoint.grace_seconds had been over for 55.";
  EXPECT_NE(run.warnings().find(why), std::string::npos) << run.warnings();
  EXPECT_EQ(run.warnings().find("tier 'slow'"), std::string::npos) << run.warnings();
  EXPECT_EQ(run->status().last_error.substr(0, why.size()), why);
}

TEST_F(Stop, begins_a_save_however_long_one_before_it_took) {
  begin("type: direct, slow: slow, every_steps: 1, snapshot: async, grace_seconds: 1");
  EXPECT_TRUE(run.save(1));
  gate->wait_for_call();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  open_and_flush();
  run.checkpoints().stop = Clock::now();
  EXPECT_TRUE(run.offer({.step = 2, .last = true}));
}

TEST_F(Stop, saves_where_there_is_time) {
  run.start("type: direct, slow: slow, grace_seconds: 1000");
  run.checkpoints().stop = Clock::now();
  EXPECT_TRUE(run.offer({.step = 1, .last = true}));
  EXPECT_TRUE(run.intact("slow", 1));
}

}  // namespace
}  // namespace stoker
