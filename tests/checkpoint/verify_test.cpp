#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/support/checkpoint_run.h"
#include "tests/support/file_layers.h"

// What a tier made of the bytes that it was given, and how a set is written.

namespace stoker {
namespace {

using Op = FileCall::Op;

class Liar : public testing::TestWithParam<const char*> {};

TEST_P(Liar, is_caught_by_verify_all_and_the_set_is_written_again) {
  CheckpointRun run;
  run.slow = {std::make_shared<FlipLayer>(GetParam(), 1)};
  run.start(kDirect + ", verify: all");
  run.save(1);
  EXPECT_EQ(run->status().saved, 1);
  EXPECT_TRUE(run.intact("slow", 1));
}

TEST_P(Liar, that_always_lies_gets_no_set_acknowledged) {
  CheckpointRun run;
  run.slow = {std::make_shared<FlipLayer>(GetParam(), 1000)};
  run.start(kDirect + ", verify: all");
  run.save(1);
  EXPECT_EQ(run->status().saved, 0);
  EXPECT_EQ(run->status().failed, 1);
  EXPECT_EQ(run->status().durable_step, std::nullopt);
  EXPECT_EQ(run.steps("slow"), Steps{});
  EXPECT_NE(run.warnings().find(GetParam()), std::string::npos) << run.warnings();
}

TEST_P(Liar, is_caught_by_the_drain_which_copies_again) {
  CheckpointRun run;
  run.slow = {std::make_shared<FlipLayer>(GetParam(), 1)};
  run.start(kBurst);
  run.save(1);
  EXPECT_TRUE(run->flush());
  EXPECT_EQ(run->status().drain_retries, 1);
  EXPECT_EQ(run->status().drained, 1);
  EXPECT_TRUE(run.intact("slow", 1));
}

TEST_P(Liar, that_always_lies_gets_no_set_counted_as_drained) {
  CheckpointRun run;
  run.slow = {std::make_shared<FlipLayer>(GetParam(), 1000)};
  run.start(kBurst);
  run.save(1);
  EXPECT_FALSE(run->flush());
  EXPECT_EQ(run->status().durable_step, std::nullopt);
  EXPECT_EQ(run->status().drains_left, 1);
  EXPECT_TRUE(run.intact("fast", 1));
}

TEST_P(Liar, is_believed_without_verify_and_found_out_by_restoring) {
  CheckpointRun run;
  run.slow = {std::make_shared<FlipLayer>(GetParam(), 1)};
  run.start(kDirect + ", verify: none");
  run.save(1), run.save(2);
  EXPECT_EQ(run->status().saved, 2);
  EXPECT_FALSE(run.intact("slow", 1));
  EXPECT_TRUE(run.intact("slow", 2));
}

TEST_P(Liar, on_the_fast_tier_is_not_passed_on) {
  CheckpointRun run;
  run.fast = {std::make_shared<FlipLayer>(GetParam(), 1)};
  run.start(kBurst + ", verify: none");
  run.save(1), run.save(2);
  run->flush();
  EXPECT_EQ(run.steps("slow"), Steps{2});
  EXPECT_EQ(run->status().failed, 1);
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, Liar, testing::Values(".safetensors", "MANIFEST.json"),
                         [](const auto& info) { return info.index == 0 ? "data" : "manifest"; });

TEST(Verify, a_set_on_both_tiers_counts_only_when_the_last_copy_was_read) {
  CheckpointRun run;
  run.start(kBurst);
  run.save(1);
  EXPECT_TRUE(run->flush());
  run.stop();
  // As if the process had been killed between the commit and the reading back.
  const std::string file = run.set("slow", 1) + "/state.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(run.resume(kBurst + ", resume: latest"), 1);
  EXPECT_TRUE(run->flush());
  EXPECT_TRUE(run.intact("slow", 1));
  EXPECT_EQ(run.others("slow"), std::vector<std::string>{"damaged-step-0000000001"});
  EXPECT_NE(run.warnings().find("set aside as " + run.path("slow") + "/run/damaged-step-"),
            std::string::npos)
      << run.warnings();
}

TEST(Verify, a_damaged_manifest_of_a_drained_set_is_found_as_well) {
  CheckpointRun run;
  run.start(kBurst);
  run.save(1);
  EXPECT_TRUE(run->flush());
  run.stop();
  const std::string file = run.set("slow", 1) + "/MANIFEST.json";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(run.resume(kBurst + ", resume: latest"), 1);
  EXPECT_TRUE(run->flush());
  EXPECT_TRUE(run.intact("slow", 1));
}

// Calls of that kind on the tier while sets are saved, drained and removed.
size_t calls(Op op, const std::string& options) {
  const auto fast = std::make_shared<FaultLayer>(Fault{.op = op, .times = 0, .error = EIO});
  const auto slow = std::make_shared<FaultLayer>(Fault{.op = op, .times = 0, .error = EIO});
  CheckpointRun run;
  run.fast = {fast}, run.slow = {slow};
  run.start(options);
  const size_t before = fast->matching() + slow->matching();
  for (int64_t step = 1; step <= 4; ++step) {
    run.save(step);
    run->flush();
  }
  EXPECT_EQ(run->status().durable_step, 4);
  EXPECT_EQ(run.steps("slow"), (Steps{3, 4}));
  return fast->matching() + slow->matching() - before;
}

TEST(Durability, none_makes_no_sync_call) {
  for (const std::string type :
       {"type: direct, slow: slow", "type: burst_buffer, fast: fast, slow: slow"}) {
    for (const std::string layout : {"safetensors", "tf_saver"}) {
      const std::string options =
          type + ", every_steps: 1, keep_last: 2, durability: none, layout: " + layout;
      EXPECT_EQ(calls(Op::sync, options), 0u) << options;
      EXPECT_EQ(calls(Op::sync_directory, options), 0u) << options;
    }
  }
}

TEST(Durability, fsync_syncs_files_and_directories) {
  const std::string options = "type: direct, slow: slow, every_steps: 1, keep_last: 2";
  // Data, manifest, latest.
  EXPECT_EQ(calls(Op::sync, options), 4u * 3);
  EXPECT_GE(calls(Op::sync_directory, options), 4u * 3);
}

// Whether data go past the page cache, seen while they are written.
bool written_direct(const std::string& options) {
  bool direct = false;
  const auto look = [&](const FileCall&) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (target.find("/state.safetensors") == std::string::npos) continue;
      const int fd = std::stoi(entry.path().filename().string());
      direct = (::fcntl(fd, F_GETFL) & O_DIRECT) != 0;
    }
  };
  CheckpointRun run;
  run.slow = {std::make_shared<FaultLayer>(
      Fault{.op = Op::write, .path = "state.safetensors", .error = EINTR, .hook = look})};
  run.start(kDirect + options);
  run.save(1);
  EXPECT_TRUE(run.intact("slow", 1));
  return direct;
}

TEST(Write, buffered_goes_through_the_page_cache) {
  EXPECT_FALSE(written_direct(", write: buffered"));
}

TEST(Write, a_stream_goes_on_after_half_a_write) {
  const auto half =
      std::make_shared<FaultLayer>(Fault{.op = Op::write, .path = "state.safetensors"});
  CheckpointRun run;
  run.slow = {half};
  run.start(kDirect + ", write: stdio");
  run.save(1);
  EXPECT_EQ(half->matching(), 2u);
  EXPECT_TRUE(run.intact("slow", 1));
}

TEST(Write, auto_goes_past_the_page_cache_where_the_tier_can) {
  const TemporaryDirectory here;
  const FileTree tree(here.path());
  EXPECT_EQ(written_direct(", write: auto"), tree.create("probe", FileAccess::direct).direct());
}

TEST(Write, shards_are_files_of_their_own) {
  CheckpointRun run;
  run.start(kDirect + ", shards: 3, threads: 4");
  run.save(1);
  EXPECT_TRUE(run.intact("slow", 1));
  EXPECT_EQ(FileTree(run.set("slow", 1)).list(""),
            (std::vector<std::string>{"MANIFEST.json", "state-00001-of-00003.safetensors",
                                      "state-00002-of-00003.safetensors",
                                      "state-00003-of-00003.safetensors"}));
}

TEST(Write, shards_and_layout_may_change_between_two_processes) {
  CheckpointRun run;
  run.start(kBurst);
  run.save(1);
  const std::vector<std::string> ways = {", shards: 3", ", layout: tf_saver", ", shards: 5", ""};
  for (int64_t step = 1; const std::string& way : ways) {
    EXPECT_EQ(run.resume(kBurst + way + ", resume: latest"), step);
    run.save(++step);
  }
  EXPECT_EQ(run.resume(kBurst + ", resume: latest"), 5);
}

}  // namespace
}  // namespace stoker
