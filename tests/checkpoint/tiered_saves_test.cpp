#include "io/checkpoint/saving/tiered_saves.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/support/checkpoint_run.h"
#include "tests/support/errors.h"
#include "tests/support/file_layers.h"

namespace stoker {
namespace {

using Op = FileCall::Op;

// The steps that were saved of offers 1 to 12; an epoch ends after every third.
Steps due(const std::string& options) {
  CheckpointRun run;
  run.start("type: direct, slow: slow, keep_last: 100" + options);
  for (int64_t step = 1; step <= 12; ++step) {
    run.offer({.step = step, .epoch_ended = step % 3 == 0, .epochs = step / 3});
  }
  return run.steps("slow");
}

TEST(TieredSaves, saves_every_so_many_steps) { EXPECT_EQ(due(", every_steps: 5"), (Steps{5, 10})); }

TEST(TieredSaves, saves_every_so_many_epochs) {
  EXPECT_EQ(due(", every_epochs: 1"), (Steps{3, 6, 9, 12}));
  EXPECT_EQ(due(", every_epochs: 2"), (Steps{6, 12}));
}

TEST(TieredSaves, saves_where_any_rule_says_so) {
  EXPECT_EQ(due(", every_epochs: 2, every_steps: 4"), (Steps{4, 6, 8, 12}));
}

TEST(TieredSaves, saves_nothing_without_a_rule) { EXPECT_EQ(due(""), Steps{}); }

TEST(TieredSaves, saves_when_so_much_time_has_passed) {
  CheckpointRun run;
  run.start("type: direct, slow: slow, every_seconds: 0.001");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(run.save(1));
  EXPECT_EQ(due(", every_seconds: 1000000"), Steps{});
}

TEST(TieredSaves, saves_at_the_end_whatever_the_rules_are) {
  CheckpointRun run;
  run.start("type: direct, slow: slow");
  EXPECT_FALSE(run.offer({.step = 1}));
  EXPECT_TRUE(run.offer({.step = 2, .last = true}));
  EXPECT_EQ(run.steps("slow"), Steps{2});
}

TEST(TieredSaves, saves_no_step_twice) {
  CheckpointRun run;
  run.start(kDirect);
  EXPECT_TRUE(run.save(1));
  EXPECT_FALSE(run.save(1));
  EXPECT_FALSE(run.offer({.step = 1, .last = true}));
  EXPECT_EQ(run->status().saved, 1);
}

TEST(TieredSaves, saves_the_step_it_resumed_from_no_second_time) {
  CheckpointRun run;
  run.start(kDirect);
  run.save(1);
  EXPECT_EQ(run.resume(kDirect + ", resume: latest"), 1);
  EXPECT_FALSE(run.offer({.step = 1, .last = true}));
}

TEST(TieredSaves, sync_returns_when_the_set_is_committed) {
  CheckpointRun run;
  run.start(kDirect);
  for (int64_t step = 1; step <= 3; ++step) {
    EXPECT_TRUE(run->save({.step = step}, [&] { return small_state(step); }));
    EXPECT_TRUE(run.intact("slow", step));
    EXPECT_EQ(run->status().saved, step);
    EXPECT_EQ(run->status().durable_step, step);
    EXPECT_EQ(run->status().save_s.size(), static_cast<size_t>(step));
  }
}

TEST(TieredSaves, async_returns_before_the_set_is_written) {
  CheckpointRun run;
  const auto gate = std::make_shared<GateLayer>();
  run.slow = {gate};
  run.start(kDirect + ", snapshot: async");
  gate->close();
  EXPECT_TRUE(run.save(1));
  gate->wait_for_call();
  EXPECT_EQ(run.steps("slow"), Steps{});
  gate->open();
  EXPECT_TRUE(run->flush());
  EXPECT_TRUE(run.intact("slow", 1));
}

TEST(TieredSaves, finish_copy_waits_for_the_copy_and_not_for_the_write) {
  CheckpointRun run;
  const auto gate = std::make_shared<GateLayer>();
  run.slow = {gate};
  run.start(kDirect + ", snapshot: async");
  gate->close();
  TrainingState state = small_state(1);
  std::vector<uint8_t> weight = small_bytes(small_tensors()[0], 1);
  state.tensors[0] = weight.data();
  EXPECT_TRUE(run->save({.step = 1}, [&] { return state; }));
  run->finish_copy();
  std::fill(weight.begin(), weight.end(), uint8_t{0xff});
  EXPECT_EQ(run.steps("slow"), Steps{});
  gate->open();
  EXPECT_TRUE(run->flush());
  EXPECT_TRUE(run.intact("slow", 1));
}

// A device that copies when it is let go.
struct PatientCopies final : DeviceCopies {
  void start(std::span<const CopyTarget> given) override {
    targets.assign(given.begin(), given.end());
  }
  void fence() override { ++fences; }
  void wait() override {
    go.get_future().wait();
    for (const CopyTarget& each : targets) {
      const std::vector<uint8_t> bytes = small_bytes(small_tensors()[each.tensor], 1);
      std::copy_n(bytes.begin() + static_cast<int64_t>(each.begin), each.bytes, each.to);
    }
  }
  std::vector<CopyTarget> targets;
  std::promise<void> go;
  int fences = 0;
};

TEST(TieredSaves, finish_copy_lets_the_device_wait_and_not_the_trainer) {
  CheckpointRun run;
  run.start(kDirect + ", snapshot: async");
  const auto copies = std::make_shared<PatientCopies>();
  EXPECT_TRUE(run->save({.step = 1}, [&] {
    TrainingState state = small_state(1);
    for (const uint8_t*& address : state.tensors) address = nullptr;
    state.device = copies;
    return state;
  }));
  run->finish_copy();
  EXPECT_EQ(copies->fences, 1);
  EXPECT_EQ(run.steps("slow"), Steps{});
  copies->go.set_value();
  EXPECT_TRUE(run->flush());
  EXPECT_TRUE(run.intact("slow", 1));
}

struct FailingCopies final : DeviceCopies {
  void start(std::span<const CopyTarget>) override {}
  void fence() override {}
  void wait() override { throw std::runtime_error("the device is lost"); }
};

TEST(TieredSaves, a_copy_that_fails_is_a_failed_checkpoint) {
  CheckpointRun run;
  run.start(kDirect);
  run->save({.step = 1}, [&] {
    TrainingState state = small_state(1);
    state.device = std::make_shared<FailingCopies>();
    return state;
  });
  EXPECT_EQ(run->status().failed, 1);
  EXPECT_NE(run.warnings().find("the device is lost"), std::string::npos) << run.warnings();
  EXPECT_TRUE(run.save(2));
  EXPECT_EQ(run.steps("slow"), Steps{2});
}

TEST(TieredSaves, news_arrive_with_the_next_offer) {
  CheckpointRun run;
  run.start("type: direct, slow: slow, snapshot: async, every_steps: 10");
  EXPECT_TRUE(run.offer({.step = 10}));
  // Written after the news.
  while (!FileTree(run.path("slow")).exists("run/latest")) std::this_thread::yield();
  EXPECT_EQ(run.infos(), "");
  EXPECT_FALSE(run.offer({.step = 11}));
  EXPECT_NE(run.infos().find("checkpoint of step 10: "), std::string::npos) << run.infos();
}

TEST(TieredSaves, a_failed_save_is_told_and_the_next_one_works) {
  CheckpointRun run;
  run.slow = {std::make_shared<FaultLayer>(Fault{.op = Op::write, .times = 2, .error = EIO})};
  run.start(kDirect);
  EXPECT_TRUE(run.save(1));
  EXPECT_EQ(run->status().failed, 1);
  EXPECT_TRUE(run->status().degraded);
  EXPECT_NE(run->status().last_error.find("Input/output error"), std::string::npos);
  EXPECT_NE(run.warnings().find("checkpoint of step 1 failed on tier 'slow': write "),
            std::string::npos)
      << run.warnings();
  EXPECT_EQ(run.steps("slow"), Steps{});
  EXPECT_TRUE(run.save(2));
  EXPECT_EQ(run.steps("slow"), Steps{2});
  EXPECT_FALSE(run->status().degraded);
  EXPECT_EQ(run.others("slow"), std::vector<std::string>{});
}

TEST(TieredSaves, a_step_that_failed_is_saved_at_the_end) {
  CheckpointRun run;
  run.slow = {std::make_shared<FaultLayer>(Fault{.op = Op::write, .times = 2, .error = EIO})};
  run.start(kDirect);
  run.save(1);
  EXPECT_TRUE(run.offer({.step = 1, .last = true}));
  EXPECT_EQ(run.steps("slow"), Steps{1});
}

TEST(TieredSaves, what_is_no_utf8_fails_no_save) {
  for (const std::string layout : {"safetensors", "tf_saver"}) {
    CheckpointRun run;
    run.start(kDirect + ", layout: " + layout);
    run->save({.step = 1}, [] {
      TrainingState state = small_state(1);
      state.training["bad_sample"] = "caf\xe9.jpg";
      return state;
    });
    EXPECT_EQ(run->status().failed, 0) << layout;
    EXPECT_EQ(run.steps("slow"), Steps{1});
    const LoadedState loaded(FileTree(run.path("slow")), "run/" + set_name(1), 1);
    EXPECT_EQ(loaded.training()["bad_sample"], "caf\\xe9.jpg");
  }
}

TEST(TieredSaves, a_set_is_read_into_the_room_that_is_given_as_far_as_it_goes) {
  CheckpointRun run;
  run.start(kDirect + ", shards: 3");
  run.save(1);
  const FileTree tree(run.path("slow"));
  const std::string set = "run/" + set_name(1);
  const Manifest manifest = read_manifest(tree, set);
  const uint64_t first = rounded_up(manifest.files[0].bytes, kDirectAlignment);
  const Room room{allocate_huge(first - 1, true), allocate_huge(first + kDirectAlignment, true)};
  LoadedState loaded(tree, set, 2, room);
  EXPECT_EQ(wrong_with(loaded), "");
  const auto in_room = [&](size_t file) {
    return std::ranges::any_of(room, [&](const HostMemory& memory) {
      const uint8_t* const at = loaded.file(file).data();
      return at >= memory.data.get() && at < memory.data.get() + memory.bytes;
    });
  };
  EXPECT_TRUE(in_room(0));
  EXPECT_FALSE(in_room(2));
}

TEST(TieredSaves, saves_after_a_resume_are_whole) {
  for (const std::string snapshot : {"sync", "async", "swap"}) {
    CheckpointRun run;
    run.start(kDirect + ", shards: 1");
    run.save(1);
    const std::string again = kDirect + ", resume: latest, shards: 3, snapshot: " + snapshot;
    EXPECT_EQ(run.resume(again), 1) << snapshot;
    for (const int64_t step : {2, 3, 4}) run.save(step);
    EXPECT_TRUE(run->flush());
    EXPECT_EQ(run->status().saved, 3);
    EXPECT_EQ(run.resume(again), 4) << snapshot;
  }
}

TEST(TieredSaves, a_failing_drain_stays_visible_while_saves_succeed) {
  CheckpointRun run;
  run.slow = {
      std::make_shared<FaultLayer>(Fault{.op = Op::write, .times = SIZE_MAX, .error = EIO})};
  run.start(kBurst);
  run.save(1);
  EXPECT_FALSE(run->flush());
  EXPECT_TRUE(run->status().degraded);
  run.save(2);
  EXPECT_TRUE(run->status().degraded);
  EXPECT_EQ(run->status().saved, 2);
}

TEST(TieredSaves, one_set_that_cannot_be_drained_does_not_keep_the_others_back) {
  CheckpointRun run;
  run.fast = {std::make_shared<FaultLayer>(
      Fault{.op = Op::read, .path = set_name(1), .times = SIZE_MAX, .error = EIO})};
  run.start(kBurst);
  run.save(1);
  run.save(2);
  EXPECT_FALSE(run->flush());
  EXPECT_EQ(run.steps("slow"), Steps{2});
  EXPECT_EQ(run->status().drains_left, 1);
}

TEST(TieredSaves, a_set_that_vanished_before_its_drain_is_not_durable) {
  CheckpointRun run;
  const auto gate = std::make_shared<GateLayer>();
  run.slow = {gate};
  run.start(kBurst);
  gate->close();
  run.save(1);
  gate->wait_for_call();
  run.save(2);
  std::filesystem::remove_all(run.set("fast", 2));
  gate->open();
  run->flush();
  EXPECT_EQ(run->status().durable_step, 1);
  EXPECT_EQ(run->status().failed, 1);
}

TEST(TieredSaves, a_full_fast_tier_loses_only_what_is_drained) {
  CheckpointRun run;
  const auto gate = std::make_shared<GateLayer>();
  run.slow = {gate};
  run.fast = {std::make_shared<FaultLayer>(Fault{.op = Op::reserve, .skip = 3, .error = ENOSPC})};
  run.start(kBurst);
  run.save(1), run.save(2);
  EXPECT_TRUE(run->flush());
  gate->close();
  run.save(3);
  EXPECT_EQ(run.steps("fast"), (Steps{1, 2, 3}));
  run.save(4);
  EXPECT_EQ(run.steps("fast"), (Steps{3, 4}));
  EXPECT_EQ(run->status().saved, 4);
  gate->open();
  EXPECT_TRUE(run->flush());
  EXPECT_EQ(run.steps("slow"), (Steps{1, 2, 3, 4}));
}

TEST(TieredSaves, a_full_tier_without_anything_drained_fails_the_save_only) {
  CheckpointRun run;
  run.fast = {std::make_shared<FaultLayer>(Fault{.op = Op::reserve, .skip = 1, .error = ENOSPC})};
  const auto gate = std::make_shared<GateLayer>();
  run.slow = {gate};
  run.start(kBurst);
  gate->close();
  run.save(1), run.save(2);
  EXPECT_EQ(run.steps("fast"), Steps{1});
  EXPECT_EQ(run->status().failed, 1);
  EXPECT_NE(run.warnings().find("No space left on device"), std::string::npos);
  gate->open();
  EXPECT_TRUE(run->flush());
}

}  // namespace
}  // namespace stoker
