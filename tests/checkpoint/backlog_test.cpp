#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/checkpoint_run.h"

// What happens where checkpoints come faster than the first tier takes them.

namespace stoker {
namespace {

const std::string kAsync =
    "type: direct, slow: slow, every_steps: 1, keep_last: 100, snapshot: async";

// Two slots, of which one is being written (before a closed gate) and one waits for that.
struct BacklogRules : testing::Test {
  void begin(const std::string& options) {
    run.slow = {gate};
    run.start(kAsync + options);
    gate->close();
    EXPECT_TRUE(run.save(1));
    gate->wait_for_call();
    EXPECT_TRUE(run.save(2));
  }
  Steps finish() {
    gate->open();
    EXPECT_TRUE(run->flush());
    for (const int64_t step : run.steps("slow")) EXPECT_TRUE(run.intact("slow", step)) << step;
    return run.steps("slow");
  }
  // Saves on a thread of its own, as it waits for the gate, and opens that meanwhile.
  bool save_and_open(const CheckpointOffer& offer) {
    std::atomic<bool> opened = false, had_to_wait = false;
    std::thread trainer([&] {
      run->save(offer, [&] {
        had_to_wait = opened.load();
        return small_state(offer.step);
      });
    });
    opened = true;
    gate->open();
    trainer.join();
    run->finish_copy();
    return had_to_wait;
  }
  const std::shared_ptr<GateLayer> gate = std::make_shared<GateLayer>();
  CheckpointRun run;
};

TEST_F(BacklogRules, block_waits_for_a_slot_and_loses_nothing) {
  begin("");
  EXPECT_TRUE(save_and_open({.step = 3}));
  EXPECT_EQ(finish(), (Steps{1, 2, 3}));
  EXPECT_EQ(run->status().saved, 3);
  EXPECT_EQ(run->status().skipped + run->status().replaced + run->status().failed, 0);
}

TEST_F(BacklogRules, skip_does_without_the_new_one) {
  begin(", on_backlog: skip");
  EXPECT_FALSE(run.save(3));
  EXPECT_FALSE(run.save(4));
  EXPECT_EQ(run->status().skipped, 2);
  EXPECT_NE(run.warnings().find("checkpoint of step 3 skipped: all snapshot buffers are taken"),
            std::string::npos)
      << run.warnings();
  EXPECT_EQ(finish(), (Steps{1, 2}));
}

TEST_F(BacklogRules, replace_does_without_the_one_that_waits) {
  begin(", on_backlog: replace");
  EXPECT_TRUE(run.save(3));
  EXPECT_TRUE(run.save(4));
  EXPECT_EQ(run->status().replaced, 2);
  EXPECT_EQ(finish(), (Steps{1, 4}));
  EXPECT_EQ(run->status().saved, 2);
}

TEST_F(BacklogRules, replace_takes_the_oldest_that_waits) {
  begin(", on_backlog: replace, slots: 3");
  EXPECT_TRUE(run.save(3));
  EXPECT_TRUE(run.save(4));
  EXPECT_EQ(finish(), (Steps{1, 3, 4}));
}

TEST_F(BacklogRules, replace_skips_where_the_only_slot_is_being_written) {
  run.slow = {gate};
  run.start(kAsync + ", on_backlog: replace, slots: 1");
  gate->close();
  EXPECT_TRUE(run.save(1));
  gate->wait_for_call();
  EXPECT_FALSE(run.save(2));
  EXPECT_EQ(run->status().skipped, 1);
  EXPECT_EQ(finish(), Steps{1});
}

TEST_F(BacklogRules, the_last_checkpoint_of_a_run_waits_under_every_policy) {
  for (const std::string policy : {"block", "skip", "replace"}) {
    std::filesystem::remove_all(run.path("slow"));
    begin(", on_backlog: " + policy);
    EXPECT_TRUE(save_and_open({.step = 3, .last = true})) << policy;
    EXPECT_EQ(finish(), (Steps{1, 2, 3})) << policy;
  }
}

TEST_F(BacklogRules, what_was_skipped_can_be_saved_at_the_end) {
  begin(", on_backlog: skip");
  EXPECT_FALSE(run.save(3));
  EXPECT_EQ(finish(), (Steps{1, 2}));
  EXPECT_TRUE(run.offer({.step = 3, .last = true}));
  EXPECT_EQ(finish(), (Steps{1, 2, 3}));
}

TEST_F(BacklogRules, sync_waits_for_the_write_and_never_has_one) {
  run.slow = {gate};
  run.start("type: direct, slow: slow, every_steps: 1, keep_last: 100, slots: 1, on_backlog: skip");
  for (int64_t step = 1; step <= 20; ++step) EXPECT_TRUE(run.save(step));
  EXPECT_EQ(run->status().saved, 20);
  EXPECT_EQ(run->status().skipped, 0);
}

class Slots : public testing::TestWithParam<const char*> {};

TEST_P(Slots, are_all_the_memory_that_is_taken) {
  CheckpointRun run;
  run.start("type: none");
  const Node node = parse_yaml(
      std::string("{type: direct, slow: slow, every_steps: 1, snapshot: async, slots: 3, "
                  "on_backlog: ") +
          GetParam() + "}",
      "test.yaml");
  const ConfigContext context{{"fast", "slow"}};
  std::atomic<size_t> calls = 0, bytes = 0;
  const auto checkpointer = Registry<Checkpointer>::global()
                                .parse(Section(node, "", Checkpointer::kKind, &context))
                                .create({.tiers = run.checkpoints().tiers,
                                         .directory = "run",
                                         .tensors = small_tensors(),
                                         .allocate =
                                             [&](size_t size) {
                                               ++calls, bytes += size;
                                               return allocate_huge(size, true);
                                             },
                                         .stop_requested = {},
                                         .info = [](const std::string&) {},
                                         .warn = [](const std::string&) {}});
  checkpointer->load();
  for (int64_t step = 1; step <= 50; ++step) Checkpoints::save(*checkpointer, step);
  EXPECT_TRUE(checkpointer->flush());
  EXPECT_EQ(calls, 3u);
  EXPECT_LE(bytes, 3 * (checkpointer->status().set_bytes + 2 * kDirectAlignment));
  const CheckpointStatus status = checkpointer->status();
  EXPECT_EQ(status.saved + status.skipped + status.replaced, 50);
}

INSTANTIATE_TEST_SUITE_P(Backlog, Slots, testing::Values("block", "skip", "replace"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stoker
