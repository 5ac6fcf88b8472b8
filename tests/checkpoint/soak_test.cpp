#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/checkpoint_run.h"

// Many checkpoints leave nothing behind. STOKER_SOAK=10000: so many, and memory is looked at.

namespace stoker {
namespace {

size_t entries(const std::string& directory) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    count += !entry.path().empty();
  }
  return count;
}

size_t descriptors() { return entries("/proc/self/fd"); }
size_t threads() { return entries("/proc/self/task"); }

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * 4096e-6;
}

int64_t long_run() {
  const char* text = std::getenv("STOKER_SOAK");
  return text != nullptr ? std::atoll(text) : 0;
}

class Soak : public testing::TestWithParam<const char*> {};

TEST_P(Soak, leaves_nothing_behind) {
  const int64_t count = std::max<int64_t>(long_run(), 100), warm = count / 10;
  CheckpointRun run;
  run.start(std::string(GetParam()) +
            ", slow: slow, every_steps: 1, keep_last: 3, keep_every: " + std::to_string(count));
  const size_t files_before = descriptors(), threads_before = threads();
  double memory = 0;
  for (int64_t step = 1; step <= count; ++step) {
    ASSERT_TRUE(run.save(step));
    ASSERT_TRUE(run->flush());
    ASSERT_EQ(descriptors(), files_before) << step;
    ASSERT_EQ(threads(), threads_before) << step;
    run.checkpoints().info.clear();
    if (step == warm) memory = resident_mb();
  }
  EXPECT_EQ(run->status().saved, count);
  EXPECT_EQ(run.warnings(), "");
  EXPECT_EQ(run.others("slow"), std::vector<std::string>{});
  EXPECT_EQ(run.steps("slow"), (std::vector<int64_t>{count - 2, count - 1, count}));
  if (long_run() > 0) {
    EXPECT_LT(resident_mb(), 1.05 * memory);
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, Soak,
                         testing::Values("type: direct",
                                         "type: burst_buffer, fast: fast, snapshot: async"),
                         [](const auto& info) { return info.index == 0 ? "direct" : "burst"; });

}  // namespace
}  // namespace stoker
