#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "io/core/error.h"
#include "tests/support/checkpoint_run.h"
#include "tests/support/errors.h"
#include "tests/support/file_layers.h"
#include "tests/support/short_tests.h"

// Where a run goes on.

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using Op = FileCall::Op;

// Steps 1 to `last` on both tiers; then the process ends.
void train(CheckpointRun& run, int64_t last, const std::string& options = kBurst) {
  run.start(options);
  for (int64_t step = 1; step <= last; ++step) run.save(step);
  ASSERT_TRUE(run->flush());
  run.stop();
}

void flip(const std::string& file, uint64_t bit) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(bit / 8));
  const auto byte = static_cast<char>(stream.get() ^ (1 << bit % 8));
  stream.seekp(static_cast<std::streamoff>(bit / 8));
  stream.put(byte);
}

void damage(const std::string& set) { flip(set + "/state.safetensors", 8 * 5000); }

TEST(Restore, a_new_run_begins_at_the_start) {
  CheckpointRun run;
  EXPECT_EQ(run.resume(kBurst + kLatest), -1);
  EXPECT_EQ(run.resume(kBurst), -1);
  EXPECT_EQ(run.warnings(), "");
}

TEST(Restore, the_newest_set_wins) {
  CheckpointRun run;
  train(run, 3);
  EXPECT_EQ(run.resume(kBurst + kLatest), 3);
  EXPECT_EQ(run->status().saved_step, 3);
}

TEST(Restore, the_newest_set_wins_wherever_it_is) {
  CheckpointRun run;
  train(run, 3);
  fs::remove_all(run.set("fast", 3));
  EXPECT_EQ(run.resume(kBurst + kLatest), 3);
  run.stop();
  fs::remove_all(run.set("slow", 3));
  fs::remove_all(run.set("slow", 2));
  EXPECT_EQ(run.resume(kBurst + kLatest), 2);
}

TEST(Restore, a_run_goes_on_with_the_other_checkpointer) {
  CheckpointRun run;
  run.start(kBurst);
  run.save(1);
  EXPECT_EQ(run.resume(kDirect + ", fast: fast" + kLatest), 1);
  run.save(2);
  EXPECT_EQ(run.resume(kBurst + kLatest), 2);
}

TEST(Restore, a_damaged_set_gives_way_to_the_same_step_of_the_other_tier) {
  for (const std::string tier : {"fast", "slow"}) {
    CheckpointRun run;
    train(run, 3);
    damage(run.set(tier, 3));
    EXPECT_EQ(run.resume(kBurst + kLatest), 3) << tier;
  }
}

TEST(Restore, damage_on_both_tiers_means_the_step_before) {
  CheckpointRun run;
  train(run, 3);
  damage(run.set("fast", 3));
  damage(run.set("slow", 3));
  EXPECT_EQ(run.resume(kBurst + kLatest), 2);
  EXPECT_EQ(run.others("fast"), Names{"damaged-step-0000000003"});
  EXPECT_EQ(run.others("slow"), Names{"damaged-step-0000000003"});
}

TEST(Restore, a_damaged_set_is_named_with_file_tensor_and_place) {
  CheckpointRun run;
  train(run, 1);
  damage(run.set("fast", 1));
  run.resume(kBurst + kLatest);
  EXPECT_NE(run.warnings().find("checkpoint not used: " + run.set("fast", 1) +
                                "/state.safetensors: damaged in bytes [0, "),
            std::string::npos)
      << run.warnings();
  EXPECT_NE(run.warnings().find("): tensor model."), std::string::npos) << run.warnings();
  EXPECT_NE(run.warnings().find("set aside as " + run.path("fast") + "/run/damaged-step-"),
            std::string::npos)
      << run.warnings();
}

TEST(Restore, a_set_under_the_name_of_another_step_is_damaged) {
  CheckpointRun run;
  train(run, 2, kDirect);
  fs::rename(run.set("slow", 1), run.set("slow", 7));
  EXPECT_EQ(run.resume(kDirect + kLatest), 2);
  EXPECT_NE(run.warnings().find("its manifest is that of step 1"), std::string::npos);
}

TEST(Restore, names_of_sets_set_aside_do_not_clash) {
  CheckpointRun run;
  train(run, 1, kDirect);
  for (int i = 0; i < 3; ++i) {
    run.resume(kDirect + kLatest);
    run.save(2);
    run.stop();
    damage(run.set("slow", 2));
  }
  EXPECT_EQ(run.resume(kDirect + kLatest), 1);
  EXPECT_EQ(run.others("slow"), (Names{"damaged-step-0000000002", "damaged-step-0000000002.2",
                                       "damaged-step-0000000002.3"}));
}

TEST(Restore, nothing_intact_is_an_error_and_nothing_is_deleted) {
  CheckpointRun run;
  train(run, 2);
  for (const std::string tier : {"fast", "slow"}) {
    for (const int64_t step : {1, 2}) damage(run.set(tier, step));
  }
  EXPECT_EQ(code_of([&] { run.resume(kBurst + kLatest); }), ExitCode::storage);
  EXPECT_EQ(run.others("fast"), (Names{"damaged-step-0000000001", "damaged-step-0000000002"}));
  EXPECT_EQ(run.others("slow"), (Names{"damaged-step-0000000001", "damaged-step-0000000002"}));
}

TEST(Restore, nothing_intact_says_what_to_do) {
  CheckpointRun run;
  train(run, 1, kDirect);
  damage(run.set("slow", 1));
  EXPECT_EQ(error_of([&] { run.resume(kDirect + kLatest); }),
            "none of the 1 checkpoints in " + run.path("slow") +
                "/run is intact (see above); to start afresh, give this run another "
                "checkpoint.directory");
}

TEST(Restore, none_does_not_write_among_the_sets_of_another_run) {
  CheckpointRun run;
  train(run, 3);
  EXPECT_EQ(code_of([&] { run.resume(kBurst); }), ExitCode::config);
  EXPECT_EQ(error_of([&] { run.resume(kBurst); }),
            run.path("fast") +
                "/run holds checkpoints up to step 3, and checkpoint.resume is none: go on with "
                "checkpoint.resume=latest, or give this run another checkpoint.directory (or "
                "run.name)");
  EXPECT_EQ(run.resume(kBurst + ", directory: another"), -1);
}

TEST(Restore, a_set_that_cannot_be_read_for_now_is_passed_over_and_kept) {
  CheckpointRun run;
  train(run, 2, kDirect);
  run.slow = {std::make_shared<FaultLayer>(
      Fault{.op = Op::read, .path = set_name(2) + "/state", .times = 100, .error = EIO})};
  EXPECT_EQ(run.resume(kDirect + kLatest), 1);
  EXPECT_EQ(run.others("slow"), Names{"superseded-step-0000000002"});
}

TEST(Restore, an_own_older_set_sets_newer_ones_aside) {
  CheckpointRun run;
  train(run, 3);
  EXPECT_EQ(run.resume(kBurst + ", resume: " + run.set("fast", 1)), 1);
  for (const std::string tier : {"fast", "slow"}) {
    EXPECT_EQ(run.steps(tier), Steps{1}) << tier;
    EXPECT_EQ(run.others(tier), (Names{"superseded-step-0000000002", "superseded-step-0000000003"}))
        << tier;
  }
  run.save(2);
  EXPECT_EQ(run.resume(kBurst + kLatest), 2);
}

TEST(Restore, a_path_may_end_with_a_slash) {
  CheckpointRun run;
  train(run, 2);
  EXPECT_EQ(run.resume(kBurst + ", resume: " + run.set("fast", 1) + "/"), 1);
}

TEST(Restore, a_set_of_another_run_is_taken_by_an_empty_one) {
  CheckpointRun other, run;
  train(other, 2);
  EXPECT_EQ(run.resume(kBurst + ", resume: " + other.set("slow", 2)), 2);
  EXPECT_EQ(run->status().durable_step, std::nullopt);
  run.save(3);
  EXPECT_TRUE(run->flush());
  EXPECT_EQ(run.steps("slow"), Steps{3});
  EXPECT_EQ(other.steps("slow"), (Steps{1, 2}));
}

TEST(Restore, a_set_of_another_run_is_refused_by_one_with_sets_of_its_own) {
  CheckpointRun other, run;
  train(other, 1);
  train(run, 1);
  const std::string options = kBurst + ", resume: " + other.set("slow", 1);
  EXPECT_EQ(code_of([&] { run.resume(options); }), ExitCode::config);
  EXPECT_NE(error_of([&] { run.resume(options); }).find("is another run's"), std::string::npos);
}

TEST(Restore, a_damaged_set_that_was_asked_for_is_an_error) {
  CheckpointRun run;
  train(run, 2);
  damage(run.set("slow", 1));
  EXPECT_EQ(code_of([&] { run.resume(kBurst + ", resume: " + run.set("slow", 1)); }),
            ExitCode::storage);
  EXPECT_EQ(run.steps("slow"), (Steps{1, 2}));
}

TEST(Restore, a_path_that_is_no_set_is_an_error) {
  CheckpointRun run;
  for (const std::string& path :
       {run.path("slow"), run.path("slow") + "/no/such", std::string("/")}) {
    EXPECT_EQ(error_of([&] { run.resume(kDirect + ", resume: " + path); }),
              "checkpoint.resume: " + path +
                  " is no checkpoint (no MANIFEST.json in it); give the path of a step-... "
                  "directory, or latest");
  }
}

TEST(Restore, what_was_not_drained_is_drained_by_the_next_process) {
  CheckpointRun run;
  const auto gate = std::make_shared<GateLayer>();
  run.slow = {gate};
  run.start(kBurst);
  gate->close();
  for (int64_t step = 1; step <= 3; ++step) run.save(step);
  gate->wait_for_call();
  EXPECT_EQ(run->status().drains_left, 3);
  gate->open();
  run.stop();
  run.slow = {};
  EXPECT_EQ(run.resume(kBurst + kLatest), 3);
  EXPECT_TRUE(run->flush());
  EXPECT_EQ(run.steps("slow"), (Steps{1, 2, 3}));
  EXPECT_EQ(run->status().durable_step, 3);
}

TEST(Restore, scores_are_remembered) {
  CheckpointRun run;
  const std::string best = "type: direct, slow: slow, every_steps: 1, keep_last: 1, keep_best: 1";
  run.start(best);
  run.save(1, 0.9);
  run.save(2, 0.5);
  EXPECT_EQ(run.resume(best + kLatest), 2);
  run.save(3, 0.7);
  run.save(4);
  EXPECT_EQ(run.steps("slow"), (Steps{1, 4}));
}

TEST(Restore, a_score_that_is_none_does_not_disturb) {
  CheckpointRun run;
  const std::string best = kDirect + ", keep_best: 1";
  run.start(best);
  run->save({.step = 1}, [] {
    TrainingState state = small_state(1);
    state.training["score"] = nullptr;
    return state;
  });
  EXPECT_EQ(run.resume(best + kLatest), 1);
}

TEST(Restore, garbage_of_killed_processes_is_removed) {
  CheckpointRun run;
  train(run, 1, kDirect);
  const std::string set = run.path("slow") + "/run/.tmp-step-0000000002-0123";
  fs::create_directories(set);
  std::ofstream(set + "/state.safetensors") << "half";
  std::ofstream(run.path("slow") + "/run/.tmp-latest-0123") << "step";
  EXPECT_EQ(run.resume(kDirect + kLatest), 1);
  EXPECT_EQ(run.others("slow"), Names{});
}

// B8: whatever happens to a set on one tier, the same step comes from the other.
TEST(Restore, of_random_damages_none_loses_a_step) {
  std::mt19937_64 random(8);
  CheckpointRun run;
  train(run, 2);
  for (size_t round = 0; round < 200 / stride(1); ++round) {
    const std::string tier = random() % 2 ? "fast" : "slow";
    const std::string other = tier == "fast" ? "slow" : "fast";
    const std::string set = run.set(tier, 2),
                      file = set + (random() % 2 ? "/MANIFEST.json" : "/state.safetensors");
    const uint64_t bytes = fs::file_size(file);
    switch (random() % 4) {
      case 0:
        flip(file, random() % (8 * bytes));
        break;
      case 1:
        fs::resize_file(file, random() % bytes);
        break;
      case 2:
        fs::remove(file);
        break;
      default:
        std::ofstream(set + "/extra-" + std::to_string(random() % 100)) << "x";
    }
    ASSERT_EQ(run.resume(kBurst + kLatest), 2) << round;
    // The newest on the slow tier is looked at by the drain.
    ASSERT_TRUE(run->flush()) << round;
    const std::string named = run.path(tier) + "/run/damaged-step-0000000002";
    ASSERT_NE(run.warnings().find(named), std::string::npos) << round << run.warnings();
    run.stop();
    ASSERT_EQ(run.others(tier), Names{"damaged-step-0000000002"}) << round;
    ASSERT_TRUE(run.intact(other, 2)) << round;
    // The evidence is there; then the tier is repaired by hand.
    fs::remove_all(named);
    fs::remove_all(set);
    fs::copy(run.set(other, 2), set, fs::copy_options::recursive);
  }
}

}  // namespace
}  // namespace stoker
