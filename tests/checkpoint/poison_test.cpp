#include <gtest/gtest.h>

#include "tests/support/checkpoint_run.h"

// The trainer goes on with its own memory: no byte that it writes after it may do so reaches a set.

namespace stoker {
namespace {

constexpr int64_t kRounds = 1000;

// Tensors that stay where they are.
struct Trainer {
  Trainer() {
    for (const TensorInfo& info : small_tensors()) tensors.push_back(small_bytes(info, 0));
    for (auto& tensor : tensors) tensor.reserve(1);
  }
  void train(int64_t step) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::vector<uint8_t> bytes = small_bytes(small_tensors()[i], step);
      std::copy(bytes.begin(), bytes.end(), tensors[i].begin());
    }
  }
  void poison() {
    for (auto& tensor : tensors) std::fill(tensor.begin(), tensor.end(), uint8_t{0xff});  // NaN
  }
  TrainingState state(int64_t step) const {
    TrainingState state;
    state.step = step;
    state.training = {{"step", step}};
    for (const auto& tensor : tensors) state.tensors.push_back(tensor.data());
    return state;
  }
  std::vector<std::vector<uint8_t>> tensors;
};

class Poison : public testing::TestWithParam<const char*> {};

TEST_P(Poison, reaches_no_set) {
  CheckpointRun run;
  Trainer trainer;
  run.start(std::string(GetParam()) +
            ", every_steps: 1, keep_last: 10000, durability: none, threads: 4");
  for (int64_t step = 1; step <= kRounds; ++step) {
    trainer.train(step);
    const bool begun = run->save({.step = step}, [&] { return trainer.state(step); });
    if (begun && std::string(GetParam()).find("async") != std::string::npos) run->finish_copy();
    trainer.poison();
  }
  ASSERT_TRUE(run->flush());
  const std::vector<int64_t> steps = run.steps("slow");
  EXPECT_EQ(static_cast<int64_t>(steps.size()), run->status().saved);
  EXPECT_EQ(run->status().saved + run->status().skipped + run->status().replaced, kRounds);
  for (const int64_t step : steps) ASSERT_TRUE(run.intact("slow", step)) << step;
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoint, Poison,
    testing::Values("type: direct, slow: slow", "type: direct, slow: slow, snapshot: async",
                    "type: direct, slow: slow, snapshot: async, on_backlog: replace",
                    "type: burst_buffer, fast: fast, slow: slow, snapshot: async, verify: none"));

}  // namespace
}  // namespace stoker
