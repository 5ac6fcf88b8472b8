#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <thread>

#include "io/checkpoint/saving/save_tiers.h"
#include "io/checkpoint/sets/set_store.h"
#include "tests/support/checkpoint_run.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using Sets = std::map<int64_t, std::optional<double>>;

CheckpointOptions keep(int64_t last, std::optional<int64_t> every = {}, int64_t best = 0) {
  CheckpointOptions options;
  options.keep_last = last;
  options.keep_every = every;
  options.keep_best = best;
  return options;
}

// Steps without scores.
Sets sets(const Steps& steps) {
  Sets result;
  for (const int64_t step : steps) result[step] = std::nullopt;
  return result;
}

TEST(Retention, the_newest_stay) {
  EXPECT_EQ(sets_to_remove(sets({10, 20, 30, 40}), 40, keep(2)), (Steps{10, 20}));
  EXPECT_EQ(sets_to_remove(sets({10, 20, 30, 40}), 40, keep(1)), (Steps{10, 20, 30}));
}

TEST(Retention, fewer_sets_than_may_stay_all_stay) {
  EXPECT_EQ(sets_to_remove(sets({10, 20}), 20, keep(2)), Steps{});
  EXPECT_EQ(sets_to_remove(sets({10, 20}), 20, keep(1'000'000'000)), Steps{});
  EXPECT_EQ(sets_to_remove({}, 20, keep(1)), Steps{});
}

TEST(Retention, multiples_of_keep_every_stay_for_ever) {
  EXPECT_EQ(sets_to_remove(sets({10, 20, 30, 40, 50}), 50, keep(1, 20)), (Steps{10, 30}));
  EXPECT_EQ(sets_to_remove(sets({10, 20, 30}), 30, keep(1, 1)), Steps{});
}

TEST(Retention, keep_every_counts_steps_and_not_sets) {
  EXPECT_EQ(sets_to_remove(sets({7, 14, 21, 28}), 28, keep(1, 10)), (Steps{7, 14, 21}));
}

TEST(Retention, the_best_scores_stay) {
  const Sets scored = {{10, 0.3}, {20, 0.9}, {30, 0.5}, {40, 0.1}};
  EXPECT_EQ(sets_to_remove(scored, 40, keep(1, {}, 1)), (Steps{10, 30}));
  EXPECT_EQ(sets_to_remove(scored, 40, keep(1, {}, 2)), (Steps{10}));
  EXPECT_EQ(sets_to_remove(scored, 40, keep(1, {}, 100)), Steps{});
}

TEST(Retention, a_set_without_a_score_is_never_among_the_best) {
  const Sets scored = {{10, std::nullopt}, {20, -1.0}, {30, std::nullopt}};
  EXPECT_EQ(sets_to_remove(scored, 30, keep(1, {}, 2)), (Steps{10}));
}

TEST(Retention, of_equal_scores_the_oldest_stays) {
  const Sets scored = {{10, 0.5}, {20, 0.5}, {30, 0.5}, {40, std::nullopt}};
  EXPECT_EQ(sets_to_remove(scored, 40, keep(1, {}, 1)), (Steps{20, 30}));
}

TEST(Retention, the_newest_may_be_the_best_as_well) {
  const Sets scored = {{10, 0.1}, {20, 0.2}, {30, 0.3}};
  EXPECT_EQ(sets_to_remove(scored, 30, keep(1, {}, 1)), (Steps{10, 20}));
}

TEST(Retention, nothing_goes_while_nothing_is_safe) {
  EXPECT_EQ(sets_to_remove(sets({10, 20, 30}), std::nullopt, keep(1)), Steps{});
}

TEST(Retention, only_what_is_older_than_the_safe_step_goes) {
  EXPECT_EQ(sets_to_remove(sets({10, 20, 30, 40}), 20, keep(1)), (Steps{10}));
  EXPECT_EQ(sets_to_remove(sets({10, 20, 30, 40}), 10, keep(1)), Steps{});
  EXPECT_EQ(sets_to_remove(sets({10, 20, 30, 40}), 25, keep(1)), (Steps{10, 20}));
}

TEST(Retention, the_rules_add_up) {
  const Sets scored = {{10, 0.9}, {20, 0.1}, {30, std::nullopt}, {40, 0.2}, {50, 0.3}, {60, 0.0}};
  EXPECT_EQ(sets_to_remove(scored, 60, keep(2, 40, 1)), (Steps{20, 30}));
}

TEST(Retention, a_set_with_a_score_that_is_no_number_is_not_the_best) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Sets scored = {{10, nan}, {20, 0.1}, {30, 0.2}, {40, nan}, {50, std::nullopt}};
  EXPECT_EQ(sets_to_remove(scored, 50, keep(1, {}, 2)), (Steps{10, 40}));
}

// Against a second opinion: what stays, by the words of the options.
TEST(Retention, random_sets_are_judged_as_the_options_say) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Sets all;
    for (int i = 0; i < 12; ++i) {
      std::optional<double> score;
      if (random() % 2) score = static_cast<double>(random() % 4);
      all[random() % 30] = score;
    }
    const CheckpointOptions options =
        keep(1 + random() % 4,
             random() % 2 ? std::optional<int64_t>(1 + random() % 8) : std::nullopt, random() % 3);
    const int64_t safe = random() % 32;
    Steps wanted;
    for (const auto& [step, score] : all) {
      int64_t newer = 0, better = 0;
      for (const auto& [other, other_score] : all) {
        newer += other > step;
        better += score && other_score &&
                  (*other_score > *score || (*other_score == *score && other < step));
      }
      const bool stays = newer < options.keep_last || (score && better < options.keep_best) ||
                         (options.keep_every && step % *options.keep_every == 0) || step >= safe;
      if (!stays) wanted.push_back(step);
    }
    ASSERT_EQ(sets_to_remove(all, safe, options), wanted) << round;
  }
}

// A save and a drain find at once that it may go.
TEST(Retention, two_threads_may_remove_the_same_set) {
  const TemporaryDirectory root;
  const FileTree tree(root.path());
  SetStore store("fast", tree, "run");
  for (int round = 0; round < 300; ++round) {
    root.write("run/" + set_name(1) + "/file", "text");
    const auto remove = [&] { EXPECT_NO_THROW(store.remove(1)); };
    { const std::jthread one(remove), other(remove); }
    EXPECT_FALSE(store.has(1));
  }
}

}  // namespace
}  // namespace stoker
