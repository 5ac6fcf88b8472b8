#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "io/core/error.h"
#include "tests/support/checkpoint_run.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// A tier whose root lies below a file, until that goes.
struct AbsentTier : testing::Test {
  void hide() {
    if (fs::exists(run.path("slow"))) fs::rename(run.path("slow"), run.path("hidden"));
    std::ofstream(run.path("slow")) << "not mounted";
  }
  void show() {
    fs::remove(run.path("slow"));
    if (fs::exists(run.path("hidden"))) fs::rename(run.path("hidden"), run.path("slow"));
  }
  // Steps 1 to `last` on both tiers; then the process ends.
  void train(int64_t last) {
    run.start(kBurst);
    for (int64_t step = 1; step <= last; ++step) run.save(step);
    ASSERT_TRUE(run->flush());
    run.stop();
  }
  // Until the drain has found the tier again.
  void wait_for_drains() {
    while (!run->flush()) std::this_thread::yield();
  }
  CheckpointRun run;
};

TEST_F(AbsentTier, does_not_keep_a_run_from_starting) {
  hide();
  EXPECT_EQ(run.resume(kBurst + kLatest), -1);
  EXPECT_NE(run.warnings().find("tier 'slow' cannot be used now: "), std::string::npos);
  EXPECT_NE(run.warnings().find("checkpoints stay on 'fast' meanwhile"), std::string::npos);
  EXPECT_TRUE(run.save(1));
  EXPECT_FALSE(run->flush());
  EXPECT_TRUE(run->status().degraded);
  EXPECT_EQ(run->status().saved, 1);
  EXPECT_EQ(run->status().durable_step, std::nullopt);
}

TEST_F(AbsentTier, catches_up_when_it_appears) {
  hide();
  run.start(kBurst);
  run.save(1), run.save(2);
  EXPECT_FALSE(run->flush());
  show();
  wait_for_drains();
  EXPECT_EQ(run.steps("slow"), (Steps{1, 2}));
  EXPECT_FALSE(run->status().degraded);
  EXPECT_EQ(run->status().durable_step, 2);
}

TEST_F(AbsentTier, does_not_keep_a_run_from_going_on) {
  train(2);
  hide();
  EXPECT_EQ(run.resume(kBurst + kLatest), 2);
  run.save(3);
  show();
  wait_for_drains();
  EXPECT_EQ(run.steps("slow"), (Steps{1, 2, 3}));
}

TEST_F(AbsentTier, is_cleared_of_a_history_that_was_not_gone_on_with) {
  train(3);
  fs::remove_all(run.set("fast", 3));
  hide();
  EXPECT_EQ(run.resume(kBurst + kLatest), 2);
  show();
  run.save(4);
  wait_for_drains();
  EXPECT_EQ(run.steps("slow"), (Steps{1, 2, 4}));
  EXPECT_EQ(run.others("slow"), Names{"superseded-step-0000000003"});
}

TEST_F(AbsentTier, with_the_only_sets_does_not_mix_them_with_those_of_a_new_beginning) {
  train(3);
  fs::remove_all(run.path("fast"));
  hide();
  EXPECT_EQ(run.resume(kBurst + kLatest), -1);
  show();
  run.save(10);
  wait_for_drains();
  EXPECT_EQ(run.steps("slow"), Steps{10});
  EXPECT_EQ(run.others("slow"), (Names{"superseded-step-0000000001", "superseded-step-0000000002",
                                       "superseded-step-0000000003"}));
  EXPECT_EQ(run.resume(kBurst + kLatest), 10);
}

// Lists fail so many times.
struct BadLists final : FileLayer {
  int64_t call(const FileCall& call, const Next& next) override {
    return call.op == FileCall::Op::list && left-- > 0 ? -EIO : next(call);
  }
  std::atomic<int> left = 0;
};

TEST_F(AbsentTier, that_falters_when_it_appears_is_looked_at_again) {
  train(3);
  fs::remove_all(run.set("fast", 3));
  hide();
  const auto lists = std::make_shared<BadLists>();
  run.slow = {lists};
  EXPECT_EQ(run.resume(kBurst + kLatest), 2);
  lists->left = 5;
  show();
  run.save(4);
  wait_for_drains();
  EXPECT_EQ(run.steps("slow"), (Steps{1, 2, 4}));
}

TEST_F(AbsentTier, obeys_retention_when_it_appears) {
  train(3);
  fs::remove_all(run.set("fast", 1));
  hide();
  EXPECT_EQ(run.resume("type: burst_buffer, fast: fast, slow: slow, every_steps: 1, keep_last: 2" +
                       kLatest),
            3);
  show();
  run.save(4);
  wait_for_drains();
  EXPECT_EQ(run.steps("slow"), (Steps{3, 4}));
}

TEST_F(AbsentTier, of_direct_is_an_error_at_the_start) {
  hide();
  EXPECT_THROW(run.start(kDirect), IoError);
}

TEST_F(AbsentTier, that_direct_only_reads_from_is_none) {
  train(2);
  fs::remove_all(run.path("fast"));
  std::ofstream(run.path("fast")) << "not mounted";
  EXPECT_EQ(run.resume(kDirect + ", fast: fast" + kLatest), 2);
  EXPECT_TRUE(run.save(3));
  EXPECT_FALSE(run->status().degraded);
}

}  // namespace
}  // namespace stoker
