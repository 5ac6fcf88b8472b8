#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "io/checkpoint/saving/snapshot.h"
#include "io/core/error.h"
#include "tests/support/checkpoint_run.h"
#include "tests/support/file_layers.h"
#include "tests/support/short_tests.h"

// checkpoint.staging_memory: a state goes to its tier through memory that holds a part of it.

namespace stoker {
namespace {

std::vector<TensorInfo> infos_of(const std::vector<uint64_t>& sizes) {
  std::vector<TensorInfo> infos;
  for (const uint64_t size : sizes) {
    infos.push_back({"t" + std::to_string(infos.size()), "U8", {static_cast<int64_t>(size)}, size});
  }
  return infos;
}

// Bytes that differ from state to state and from place to place.
struct State {
  State(const std::vector<TensorInfo>& infos, uint64_t seed) {
    for (const TensorInfo& info : infos) {
      std::vector<uint8_t> bytes(info.bytes + 8);
      fill_any(bytes.data(), bytes.size(), seed + data.size());
      data.push_back(std::move(bytes));
    }
  }
  TrainingState training(int64_t step) const {
    TrainingState state;
    state.step = step;
    state.training = {{"step", step}};
    for (const auto& bytes : data) state.tensors.push_back(bytes.data());
    return state;
  }
  std::vector<std::vector<uint8_t>> data;
};

HostMemory plain_memory(size_t bytes) { return allocate_huge(bytes, false); }

// What a writer does: takes the pieces of all files in order and releases them.
std::map<size_t, std::string> taken(Snapshot& snapshot, int64_t threads) {
  std::map<size_t, std::string> files;
  std::vector<std::pair<size_t, uint64_t>> pieces;
  const SetLayout& layout = snapshot.layout();
  for (size_t file = 0; file < layout.files.size(); ++file) {
    files[file].resize(layout.files[file].bytes);
    for (uint64_t at = 0; at < layout.files[file].bytes; at += kChunkBytes) {
      pieces.emplace_back(file, at);
    }
  }
  std::atomic<size_t> next{0};
  std::vector<std::jthread> writers;
  for (int64_t i = 0; i < threads; ++i) {
    writers.emplace_back([&] {
      for (size_t piece = next++; piece < pieces.size(); piece = next++) {
        const auto [file, at] = pieces[piece];
        const Bytes bytes = snapshot.take(file, at);
        std::memcpy(files.at(file).data() + at, bytes.data(), bytes.size());
        snapshot.release(file, at);
      }
    });
  }
  writers.clear();
  return files;
}

// Copies at once, and keeps the most that was asked for in one go.
class Copies final : public DeviceCopies {
 public:
  explicit Copies(const State& state) : state_(state) {}
  void start(std::span<const CopyTarget> targets) override {
    uint64_t bytes = 0;
    for (const CopyTarget& target : targets) {
      std::memcpy(target.to, state_.data[target.tensor].data() + target.begin, target.bytes);
      bytes += target.bytes;
    }
    most = std::max(most, bytes);
  }
  void fence() override {}
  void wait() override {
    if (fails) throw Error(ExitCode::device, "it is gone");
  }
  uint64_t most = 0;
  bool fails = false;

 private:
  const State& state_;
};

struct Passage {
  int64_t shards, copiers, writers;
  uint64_t pieces;  // that the memory holds
};

class EveryStaging : public testing::TestWithParam<Passage> {
 protected:
  // Over the borders of pieces, of odd lengths, and of none.
  const std::vector<TensorInfo> infos = infos_of({20'000'003, 1, 0, 9'000'000, 4097});
  const SetLayout layout = make_layout(FileLayout::safetensors, infos, GetParam().shards);
  const FileRange all = files_of(layout, 0, 1);
  const uint64_t memory = GetParam().pieces * kChunkBytes;

  void expect_same(const std::map<size_t, std::string>& files, Snapshot& staged,
                   const TrainingState& state) const {
    Snapshot whole(layout, plain_memory, all);
    whole.start(state);
    whole.finish(1);
    for (const auto& [file, text] : files) {
      const Bytes image = image_of(whole, file);
      ASSERT_EQ(text.size(), image.size());
      EXPECT_EQ(std::memcmp(text.data(), image.data(), image.size()), 0) << "file " << file;
    }
    EXPECT_EQ(to_text(staged.sums()), to_text(whole.sums()));
  }
};

TEST_P(EveryStaging, gives_the_files_of_a_whole_snapshot_from_less_memory) {
  size_t asked = 0;
  Snapshot staged(
      layout,
      [&](size_t bytes) {
        asked += bytes;
        return plain_memory(bytes);
      },
      all, Snapshot::Holds::copies, memory);
  ASSERT_TRUE(staged.staged());
  EXPECT_LE(asked, memory + kDirectAlignment);
  for (const uint64_t seed : {1, 2}) {
    const State state(infos, seed);
    staged.start(state.training(1));
    EXPECT_FALSE(staged.ended());
    std::jthread copier([&] { staged.finish(GetParam().copiers); });
    const auto files = taken(staged, GetParam().writers);
    copier.join();
    EXPECT_TRUE(staged.ended());
    expect_same(files, staged, state.training(1));
  }
}

TEST_P(EveryStaging, takes_a_state_from_a_device_by_halves_of_its_memory) {
  const State state(infos, 3);
  const auto copies = std::make_shared<Copies>(state);
  TrainingState there = state.training(1);
  there.device = copies;
  there.tensors[0] = there.tensors[3] = nullptr;
  Snapshot staged(layout, plain_memory, all, Snapshot::Holds::copies, memory);
  staged.start(there);
  std::map<size_t, std::string> files;
  {
    const std::jthread copier([&] { staged.finish(GetParam().copiers); });
    const std::jthread writer([&] { files = taken(staged, GetParam().writers); });
    EXPECT_TRUE(staged.feed([](const std::function<bool()>& done) {
      while (!done()) std::this_thread::yield();
      return true;
    }));
  }
  EXPECT_LE(copies->most, std::max(kChunkBytes, memory / 2));
  expect_same(files, staged, state.training(1));
}

INSTANTIATE_TEST_SUITE_P(Staging, EveryStaging,
                         testing::Values(Passage{1, 1, 1, 1}, Passage{1, 4, 3, 2},
                                         Passage{3, 2, 4, 1}, Passage{3, 4, 2, 3}));

TEST(Staging, what_fits_is_not_staged) {
  const std::vector<TensorInfo> infos = infos_of({1000});
  const SetLayout layout = make_layout(FileLayout::safetensors, infos, 1);
  EXPECT_FALSE(
      Snapshot(layout, plain_memory, {0, 1}, Snapshot::Holds::copies, kChunkBytes).staged());
}

TEST(Staging, a_state_that_is_given_up_keeps_nobody_waiting) {
  const std::vector<TensorInfo> infos = infos_of({4 * kChunkBytes});
  const SetLayout layout = make_layout(FileLayout::safetensors, infos, 1);
  Snapshot staged(layout, plain_memory, {0, 1}, Snapshot::Holds::copies, kChunkBytes);
  const State state(infos, 1);
  staged.start(state.training(1));
  std::jthread copier([&] { staged.finish(2); });
  EXPECT_EQ(staged.take(0, 0).size(), kChunkBytes);
  EXPECT_TRUE(staged.intact());
  staged.release(0, 0);
  EXPECT_FALSE(staged.intact());
  std::jthread writer([&] {
    EXPECT_THROW(
        {
          for (uint64_t at = kChunkBytes;; at += kChunkBytes) staged.take(0, at);
        },
        NoRetry);
  });
  staged.give_up("because");
  staged.wait();
  writer.join();
  copier.join();
  // The next state is as if nothing had been.
  staged.start(state.training(2));
  EXPECT_TRUE(staged.intact());
  copier = std::jthread([&] { staged.finish(2); });
  EXPECT_EQ(taken(staged, 1).at(0).size(), layout.files[0].bytes);
}

TEST(Staging, a_device_that_fails_gives_the_state_up) {
  const std::vector<TensorInfo> infos = infos_of({4 * kChunkBytes});
  const SetLayout layout = make_layout(FileLayout::safetensors, infos, 1);
  Snapshot staged(layout, plain_memory, {0, 1}, Snapshot::Holds::copies, kChunkBytes);
  const State state(infos, 1);
  const auto copies = std::make_shared<Copies>(state);
  copies->fails = true;
  TrainingState there = state.training(1);
  there.device = copies;
  there.tensors[0] = nullptr;
  staged.start(there);
  const std::jthread copier([&] { staged.finish(1); });
  EXPECT_FALSE(staged.feed([](const auto&) { return true; }));
  EXPECT_THAT(staged.why_given_up(), testing::HasSubstr("copy to snapshot memory: "));
  EXPECT_THROW(staged.take(0, 0), NoRetry);
}

// A run whose state is larger than its staging memory, on a tier behind layers.
struct StagedRun : testing::Test {
  static constexpr uint64_t kBytes = 100ull << 20;
  const std::vector<TensorInfo> infos = infos_of({kBytes});
  std::vector<State> states;  // of steps 1, 2, ...
  TemporaryDirectory root;
  std::unique_ptr<Checkpoints> checkpoints;
  std::unique_ptr<Checkpointer> checkpointer;

  void begin(const Layers& layers, const std::string& more = "") {
    for (const uint64_t step : {1, 2}) states.emplace_back(infos, step);
    checkpoints = std::make_unique<Checkpoints>(root.path(), Layers{}, layers);
    const Node node = parse_yaml(
        "{type: direct, slow: slow, every_steps: 1, snapshot: async, staging_memory: 64MiB" + more +
            "}",
        "test.yaml");
    const ConfigContext context{.tiers = {"fast", "slow"}};
    checkpointer =
        Registry<Checkpointer>::global()
            .parse(Section(node, "", Checkpointer::kKind, &context))
            .create({.tiers = checkpoints->tiers,
                     .directory = "run",
                     .tensors = infos,
                     .allocate = plain_memory,
                     .stop_requested = [] { return std::nullopt; },
                     .info = [](const std::string&) {},
                     .warn = [this](const std::string& line) { warned += line + "\n"; }});
    checkpointer->load();
  }
  // The trainer's: the state may change when it returns.
  bool save(int64_t step) {
    State& state = states.at(static_cast<size_t>(step) - 1);
    const bool begun = checkpointer->save({.step = step}, [&] { return state.training(step); });
    checkpointer->finish_copy();
    std::memset(state.data[0].data(), 0, state.data[0].size());
    return begun;
  }
  void expect_intact(int64_t step) {
    const LoadedState loaded(FileTree(root.path() + "/slow"), "run/" + set_name(step), 2);
    std::vector<uint8_t> bytes(kBytes);
    loaded.copy(0, bytes.data(), 2);
    const State expected(infos, static_cast<uint64_t>(step));
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data[0].data(), kBytes), 0) << step;
  }
  std::vector<int64_t> steps() const {
    const FileTree tree(root.path() + "/slow");
    return SetStore("slow", tree, "run").steps();
  }
  std::string warned;
};

TEST_F(StagedRun, saves_what_the_state_was) {
  begin({}, ", verify: all");
  EXPECT_TRUE(save(1));
  EXPECT_TRUE(save(2));
  EXPECT_TRUE(checkpointer->flush());
  EXPECT_EQ(steps(), (Steps{1, 2}));
  for (const int64_t step : {1, 2}) expect_intact(step);
  EXPECT_EQ(warned, "");
}

TEST_F(StagedRun, a_failure_before_anything_was_written_is_made_up_for) {
  begin(
      {std::make_shared<FaultLayer>(Fault{.op = FileCall::Op::reserve, .times = 1, .error = EIO})});
  EXPECT_TRUE(save(1));
  EXPECT_TRUE(checkpointer->flush());
  expect_intact(1);
  EXPECT_EQ(checkpointer->status().failed, 0);
}

TEST_F(StagedRun, a_failure_in_the_midst_loses_that_save_and_no_other) {
  begin({std::make_shared<FaultLayer>(
      Fault{.op = FileCall::Op::write, .skip = 5, .times = 1, .error = EIO})});
  EXPECT_TRUE(save(1));
  EXPECT_TRUE(save(2));
  EXPECT_TRUE(checkpointer->flush());
  EXPECT_EQ(steps(), (Steps{2}));
  expect_intact(2);
  EXPECT_EQ(checkpointer->status().failed, 1);
  EXPECT_NE(warned.find("checkpoint of step 1 failed on tier 'slow'"), std::string::npos) << warned;
}

TEST_F(StagedRun, a_tier_that_hangs_holds_training_up_no_longer_than_it_may) {
  const auto gate = std::make_shared<GateLayer>();
  begin({gate}, ", hang_seconds: 0.2");
  gate->close();
  EXPECT_TRUE(save(1));
  EXPECT_TRUE(checkpointer->status().hung);
  EXPECT_FALSE(save(2));  // its memory is not free
  gate->open();
  while (!checkpointer->flush()) std::this_thread::yield();
  EXPECT_TRUE(save(2));
  EXPECT_TRUE(checkpointer->flush());
  EXPECT_EQ(steps(), (Steps{2}));
}

TEST_F(StagedRun, a_save_that_was_given_up_before_its_begin_is_lost_and_says_why) {
  const auto gate = std::make_shared<GateLayer>(std::set{FileCall::Op::make_directory});
  begin({gate}, ", hang_seconds: 0.2");
  gate->close();
  EXPECT_TRUE(save(1));
  gate->open();
  while (!checkpointer->flush()) std::this_thread::yield();
  EXPECT_EQ(steps(), Steps{});
  EXPECT_EQ(checkpointer->status().saved, 0);
  EXPECT_EQ(checkpointer->status().failed, 1);
  EXPECT_NE(warned.find("the tier does not answer"), std::string::npos) << warned;
}

TEST_F(StagedRun, a_process_that_ends_meanwhile_leaves_nothing) {
  const auto gate = std::make_shared<GateLayer>();
  begin({gate}, ", hang_seconds: 0.1");
  gate->close();
  EXPECT_TRUE(save(1));
  gate->open();
  checkpointer.reset();
  EXPECT_EQ(steps(), Steps{});
}

TEST(Staging, options_that_cannot_be_are_refused) {
  for (const char* wrong : {"staging_memory: 1MiB", "staging_memory: 64MiB, snapshot: swap"}) {
    const Node node =
        parse_yaml(std::string("{type: direct, slow: slow, ") + wrong + "}", "test.yaml");
    const ConfigContext context{.tiers = {"slow"}};
    EXPECT_THROW(
        Registry<Checkpointer>::global().parse(Section(node, "", Checkpointer::kKind, &context)),
        Error)
        << wrong;
  }
}

}  // namespace
}  // namespace stoker
