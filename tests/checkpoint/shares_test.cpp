#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/support/checkpoint_run.h"
#include "tests/support/thread_group.h"

// Sets of which each process has its own part, and runs that go on from a set that they did not
// read.

namespace stoker {
namespace {

// Rows of every tensor for each process; what has no rows to share is one process's alone.
std::vector<TensorShare> shares_of(int64_t processes) {
  std::vector<TensorShare> shares;
  const std::vector<TensorInfo> tensors = small_tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& tensor = tensors[i];
    const int64_t rows = tensor.shape.empty() ? 1 : tensor.shape[0];
    if (tensor.bytes == 0 || rows < processes) {
      shares.push_back({i, 0, tensor.bytes, static_cast<int64_t>(i) % processes});
      continue;
    }
    const uint64_t row = tensor.bytes / static_cast<uint64_t>(rows);
    for (int64_t process = 0; process < processes; ++process) {
      const auto begin = static_cast<uint64_t>(rows * process / processes);
      const auto end = static_cast<uint64_t>(rows * (process + 1) / processes);
      shares.push_back({i, begin * row, (end - begin) * row, process});
    }
  }
  return shares;
}

// The state with nothing in it but what this process has.
TrainingState part_of(int64_t step, int64_t rank, const std::vector<TensorShare>& shares) {
  TrainingState state = small_state(step);
  std::set<size_t> own;
  for (const TensorShare& share : shares) {
    if (share.process == rank) own.insert(share.tensor);
  }
  for (size_t i = 0; i < state.tensors.size(); ++i) {
    if (!own.contains(i)) state.tensors[i] = nullptr;
  }
  state.part = {{"rank", rank}};
  return state;
}

class Shares : public testing::TestWithParam<std::pair<int64_t, std::string>> {};

TEST_P(Shares, become_one_set_with_what_each_process_says) {
  const int64_t processes = GetParam().first;
  const std::string options = "{" + GetParam().second + "}";
  const TemporaryDirectory root;
  const std::vector<TensorShare> shares = shares_of(processes);
  ThreadGroup group(processes);
  {
    std::vector<std::jthread> threads;
    for (int64_t rank = 0; rank < processes; ++rank) {
      threads.emplace_back([&, rank] {
        Checkpoints run(root.path());
        const auto checkpointer =
            run.make(options, group.member(static_cast<size_t>(rank)), shares, -1);
        EXPECT_FALSE(checkpointer->load().has_value());
        for (const int64_t step : {1, 2, 3}) {
          EXPECT_TRUE(
              checkpointer->save({.step = step}, [&] { return part_of(step, rank, shares); }));
          checkpointer->finish_copy();
        }
        EXPECT_TRUE(checkpointer->flush()) << run.warnings();
        EXPECT_EQ(checkpointer->status().saved, 3) << run.warnings();
        EXPECT_EQ(checkpointer->status().saved_step, 3);
        EXPECT_EQ(checkpointer->status().saves_left, 0);
      });
    }
  }
  const FileTree tree(root.path() + "/slow");
  for (const int64_t step : {1, 2, 3}) {
    const LoadedState loaded(tree, "run/" + set_name(step), 1);
    EXPECT_EQ(wrong_with(loaded), "");
    EXPECT_EQ(loaded.manifest().files.size(), static_cast<size_t>(processes));
    const nlohmann::json parts = loaded.training().at("parts");
    ASSERT_EQ(parts.size(), static_cast<size_t>(processes));
    for (size_t rank = 0; rank < parts.size(); ++rank) EXPECT_EQ(parts[rank].at("rank"), rank);
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, Shares,
                         testing::Values(std::pair(1, kDirect), std::pair(2, kDirect),
                                         std::pair(3, kBurst), std::pair(2, kBurst)),
                         [](const auto& info) { return "shares_" + std::to_string(info.index); });

TEST(SharesInOneFile, are_refused) {
  const TemporaryDirectory root;
  Checkpoints run(root.path());
  try {
    run.make("{" + kDirect + ", layout: tf_saver}", alone(), shares_of(1));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::config);
    EXPECT_STREQ(
        error.what(),
        "checkpoint.layout: tf_saver writes one file, and here each process has tensors of "
        "its own: set checkpoint.layout=safetensors");
  }
}

TEST(LoadedState, a_stretch_of_a_tensor_is_copied_from_whatever_files_it_lies_in) {
  const TemporaryDirectory root;
  Checkpoints run(root.path());
  const auto checkpointer = run.make("{" + kDirect + ", shards: 5}");
  checkpointer->load();
  Checkpoints::save(*checkpointer, 1);
  const LoadedState loaded(FileTree(root.path() + "/slow"), "run/" + set_name(1), 1);
  for (size_t i = 0; i < loaded.tensors().size(); ++i) {
    const std::vector<uint8_t> whole = small_bytes(loaded.tensors()[i], 1);
    for (size_t begin = 0; begin < whole.size(); begin += 1 + whole.size() / 7) {
      std::vector<uint8_t> some(std::min<size_t>(whole.size() - begin, 1 + whole.size() / 3));
      loaded.copy(i, begin, some);
      EXPECT_TRUE(
          std::equal(some.begin(), some.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin)))
          << loaded.tensors()[i].name << " from " << begin;
    }
  }
}

TEST(GoesOnFrom, a_set_that_was_read_elsewhere_sets_newer_ones_aside) {
  for (const std::string& options : {kDirect, kBurst}) {
    const TemporaryDirectory root;
    {
      Checkpoints run(root.path());
      const auto checkpointer = run.make("{" + options + "}");
      checkpointer->load();
      for (const int64_t step : {1, 2, 3, 4}) Checkpoints::save(*checkpointer, step);
      EXPECT_TRUE(checkpointer->flush());
    }
    const FileTree tree(root.path() + "/slow");
    const SetStore slow("slow", tree, "run");
    Checkpoints run(root.path());
    const auto checkpointer = run.make("{" + options + "}", alone(), {}, 2);
    EXPECT_FALSE(checkpointer->load().has_value());
    EXPECT_EQ(slow.steps(), (std::vector<int64_t>{1, 2})) << run.warnings();
    EXPECT_TRUE(tree.exists("run/superseded-" + set_name(4)));
    EXPECT_TRUE(Checkpoints::save(*checkpointer, 3));
    EXPECT_TRUE(checkpointer->flush());
    EXPECT_EQ(slow.steps(), (std::vector<int64_t>{1, 2, 3})) << run.warnings();
  }
}

}  // namespace
}  // namespace stoker
