#include <gtest/gtest.h>

#include "tests/support/checkpoint_run.h"
#include "tests/support/short_tests.h"

// The trainer goes on with its own memory: no byte that it writes after it may do so reaches a set.

namespace stoker {
namespace {

// Tensors that stay where they are, or where they are told to move.
struct Trainer {
  Trainer() {
    for (const TensorInfo& info : small_tensors()) own.push_back(small_bytes(info, 0));
    for (auto& tensor : own) tensor.reserve(1);
    for (auto& tensor : own) tensors.push_back(tensor.data());
  }
  void move(const std::optional<StatePlaces>& to) {
    if (!to) return;
    tensors = to->tensors;
    ++moves;
  }
  void train(int64_t step) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::vector<uint8_t> bytes = small_bytes(small_tensors()[i], step);
      std::copy(bytes.begin(), bytes.end(), tensors[i]);
    }
  }
  void poison() {
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::fill_n(tensors[i], small_tensors()[i].bytes, uint8_t{0xff});  // NaN
    }
  }
  TrainingState state(int64_t step) const {
    TrainingState state;
    state.step = step;
    state.training = {{"step", step}};
    for (const auto& tensor : tensors) state.tensors.push_back(tensor);
    return state;
  }
  std::vector<std::vector<uint8_t>> own;
  std::vector<uint8_t*> tensors;
  int64_t moves = 0;
};

struct Poisoned {
  std::string options;
  int64_t rounds;
};

class Poison : public testing::TestWithParam<Poisoned> {};

TEST_P(Poison, reaches_no_set) {
  const std::string& options = GetParam().options;
  const int64_t rounds = GetParam().rounds / static_cast<int64_t>(stride(10));
  CheckpointRun run;
  Trainer trainer;
  run.start(options +
            ", every_steps: 1, keep_last: 10000, durability: none, write: buffered, threads: 2");
  trainer.move(run->finish_copy());
  const bool swap = options.find("swap") != std::string::npos;
  EXPECT_EQ(trainer.moves, swap);
  for (int64_t step = 1; step <= rounds; ++step) {
    trainer.train(step);
    const bool begun = run->save({.step = step}, [&] { return trainer.state(step); });
    if (begun && options.find("snapshot") != std::string::npos) trainer.move(run->finish_copy());
    trainer.poison();
  }
  EXPECT_EQ(trainer.moves, swap ? 1 + rounds - run->status().skipped : 0);
  ASSERT_TRUE(run->flush());
  const std::vector<int64_t> steps = run.steps("slow");
  EXPECT_EQ(static_cast<int64_t>(steps.size()), run->status().saved);
  EXPECT_EQ(run->status().saved + run->status().skipped + run->status().replaced, rounds);
  for (const int64_t step : steps) ASSERT_TRUE(run.intact("slow", step)) << step;
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoint, Poison,
    testing::Values(
        Poisoned{"type: direct, slow: slow", 1000},
        Poisoned{"type: direct, slow: slow, snapshot: async", 1000},
        Poisoned{"type: direct, slow: slow, snapshot: async, on_backlog: replace", 1000},
        Poisoned{"type: direct, slow: slow, snapshot: swap", 500},
        Poisoned{"type: direct, slow: slow, snapshot: swap, slots: 1, shards: 3", 200},
        Poisoned{"type: direct, slow: slow, snapshot: swap, on_backlog: replace, slots: 3", 500},
        Poisoned{"type: direct, slow: slow, snapshot: swap, on_backlog: skip", 500},
        Poisoned{"type: burst_buffer, fast: fast, slow: slow, snapshot: async, verify: none",
                 200}));

}  // namespace
}  // namespace stoker
