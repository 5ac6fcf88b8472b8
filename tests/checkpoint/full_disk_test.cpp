#include <gtest/gtest.h>
#include <sys/mount.h>

#include <fstream>
#include <stdexcept>

#include "io/core/error.h"
#include "tests/support/checkpoint_run.h"
#include "tests/support/mounted.h"

// File systems that are too small, real ones: the fast tier has room for one and a half sets, the
// slow one for two and a half.

namespace stoker {
namespace {

namespace fs = std::filesystem;

const std::string kUntilFull =
    "type: burst_buffer, fast: fast, slow: slow, every_steps: 1, retry_seconds: 0.001, keep_last: ";

void require(bool fact, const std::string& what) {
  if (!fact) throw std::runtime_error(what);
}

uint64_t pages(uint64_t bytes) { return (bytes + 4095) / 4096; }

// Of a set and the small files beside it.
uint64_t set_pages() {
  CheckpointRun run;
  run.start("type: direct, slow: slow, every_steps: 1");
  run.save(1);
  uint64_t sum = 1;
  for (const auto& file : fs::directory_iterator(run.set("slow", 1))) {
    sum += pages(file.file_size());
  }
  return sum;
}

// What `f` says in a process whose tiers have room for so many halves of a set; "" is success.
std::string with_small_tiers(uint64_t fast, uint64_t slow,
                             const std::function<void(CheckpointRun&)>& f) {
  const TemporaryDirectory root;
  const std::string one = std::to_string(4096 * (set_pages() * fast / 2));
  const std::string two = std::to_string(4096 * (set_pages() * slow / 2));
  fs::create_directory(root / "fast");
  fs::create_directory(root / "slow");
  return run_mounted(root / "fast", "tmpfs", "size=" + one, [&]() -> std::string {
    const std::string options = "size=" + two;
    require(::mount("none", (root / "slow").c_str(), "tmpfs", 0, options.c_str()) == 0, "mount");
    CheckpointRun run(root.path());
    f(run);
    return "";
  });
}

// Sets go while we look: a newer one has come then.
bool any_intact(const CheckpointRun& run) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    for (const std::string tier : {"fast", "slow"}) {
      for (const int64_t step : run.steps(tier)) {
        if (run.intact(tier, step)) return true;
      }
    }
  }
  return false;
}

void fill(const std::string& path) {
  std::ofstream file(path + "/ballast");
  const std::string page(4096, 'x');
  while (file << page << std::flush) continue;
}

bool says(const CheckpointRun& run, const std::string& text) {
  return run.warnings().find(text) != std::string::npos;
}

// 200 checkpoints: no exception, an intact set after each, and what failed shows at once.
void save_200(CheckpointRun& run, const std::string& options) {
  run.start(options);
  for (int64_t step = 1; step <= 200; ++step) {
    const CheckpointStatus before = run->status();
    run.checkpoints().warn.clear();
    run.save(step);
    const CheckpointStatus after = run->status();
    const std::string at = " at step " + std::to_string(step);
    require(any_intact(run), "no intact set" + at);
    const bool saved = after.saved == before.saved + 1;
    require(saved || after.failed == before.failed + 1, "neither saved nor failed" + at);
    if (saved) continue;
    require(after.degraded, "not degraded" + at);
    require(says(run, "checkpoint of step " + std::to_string(step) + " failed on tier 'fast': "),
            "no word of the failure" + at + ": " + run.warnings());
    require(says(run, "No space left on device"), "no reason" + at);
  }
}

struct FullDisk : testing::Test {
  void SetUp() override { STOKER_NEEDS_MOUNTS(); }
};

TEST_F(FullDisk, sets_that_fit_go_through_200_checkpoints) {
  const auto said = with_small_tiers(3, 5, [](CheckpointRun& run) {
    save_200(run, kUntilFull + "1");
    run->flush();  // a busy machine may have drained nothing meanwhile
    run.save(201);
    run->flush();
    require(run->status().saved > 1, "nothing was saved");
    require(run->status().durable_step == run->status().saved_step, "not all is durable");
    require(run.steps("slow").size() == 1, "retention has not worked");
  });
  EXPECT_EQ(said, "");
}

TEST_F(FullDisk, a_run_that_keeps_more_than_fits_goes_through_200_checkpoints) {
  const auto said = with_small_tiers(3, 5, [](CheckpointRun& run) {
    save_200(run, kUntilFull + "5");
    require(!run->flush(), "everything was drained");
    require(run->status().degraded, "not degraded");
    require(run.steps("slow").size() == 2, "sets on the slow tier");
    run.stop();
    require(run.resume(kUntilFull + "5, resume: latest") >= 2, "no set to go on from");
  });
  EXPECT_EQ(said, "");
}

TEST_F(FullDisk, of_the_only_tier_keeps_the_sets_that_are_there) {
  const auto said = with_small_tiers(3, 5, [](CheckpointRun& run) {
    run.start("type: direct, slow: slow, every_steps: 1, keep_last: 5");
    for (int64_t step = 1; step <= 10; ++step) run.save(step);
    require(run->status().saved == 2 && run->status().failed == 8, "saved and failed");
    require(run.intact("slow", 1) && run.intact("slow", 2), "damaged");
    require(run.others("slow").empty(), "garbage");
  });
  EXPECT_EQ(said, "");
}

TEST_F(FullDisk, of_the_fast_tier_heals_when_there_is_space) {
  const auto said = with_small_tiers(6, 20, [](CheckpointRun& run) {
    run.start(kUntilFull + "2");
    fill(run.path("fast"));
    run.save(1);
    require(run->status().failed == 1 && run->status().degraded, "saved to a full tier");
    fs::remove(run.path("fast") + "/ballast");
    run.save(2);
    require(!run->status().degraded, "degraded");
    require(run.intact("fast", 2), "not saved");
    require(run->flush(), "not drained");
  });
  EXPECT_EQ(said, "");
}

TEST_F(FullDisk, of_the_fast_tier_is_made_room_on_by_removing_what_is_drained) {
  const auto said = with_small_tiers(6, 20, [](CheckpointRun& run) {
    run.start(kUntilFull + "5");
    run.save(1);
    require(run->flush(), "not drained");
    fill(run.path("fast"));
    run.save(2);
    require(run->status().saved == 2, "not saved");
    require(run.steps("fast") == std::vector<int64_t>{2}, "sets on the fast tier");
    require(run.intact("slow", 1), "the drained set has gone");
  });
  EXPECT_EQ(said, "");
}

TEST_F(FullDisk, of_the_slow_tier_heals_when_there_is_space) {
  const auto said = with_small_tiers(20, 10, [](CheckpointRun& run) {
    run.start(kUntilFull + "2");
    run.save(1);
    require(run->flush(), "not drained");
    fill(run.path("slow"));
    run.save(2), run.save(3);
    require(!run->flush(), "drained to a full tier");
    require(says(run, "drain failed, will be tried again"), "no word of it");
    require(run->status().degraded, "not degraded");
    require(run.intact("slow", 1), "the older set has gone");
    fs::remove(run.path("slow") + "/ballast");
    run.save(4);
    require(run->flush(), "not drained");
    require(!run->status().degraded, "degraded");
    require(run->status().durable_step == 4, "not durable");
    require(run.steps("slow") == std::vector<int64_t>({3, 4}), "retention");
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace stoker
