#include <gtest/gtest.h>

#include "io/checkpoint/saving/save_schedule.h"

namespace stoker {
namespace {

const TimePoint kBegin = Clock::now();

CheckpointOptions saves_every(std::optional<int64_t> steps, std::optional<double> seconds = {},
                              std::optional<int64_t> epochs = {}) {
  CheckpointOptions options;
  options.every_steps = steps;
  options.every_seconds = seconds;
  options.every_epochs = epochs;
  return options;
}

// Offers every step, a tenth of a second each; saves where the options say so. Seconds from the
// offer of `last` until the next save is due; -1: not known.
double next_after(const CheckpointOptions& options, int64_t first, int64_t last,
                  const std::vector<int64_t>& saved) {
  SaveRhythm rhythm(options);
  const auto at = [](int64_t step) { return kBegin + from_seconds(0.1 * step); };
  for (int64_t step = first; step <= last; ++step) {
    rhythm.offered(step, at(step), std::ranges::find(saved, step) != saved.end());
  }
  return rhythm.next() ? seconds(*rhythm.next() - at(last)) : -1;
}

TEST(SaveRhythm, is_not_known_before_the_first_save_nor_without_a_rule) {
  EXPECT_EQ(next_after(saves_every(10), 1, 9, {}), -1);
  EXPECT_EQ(next_after(saves_every({}), 1, 20, {10, 20}), -1);
}

TEST(SaveRhythm, of_steps_follows_their_time) {
  EXPECT_NEAR(next_after(saves_every(10), 1, 10, {10}), 1, 1e-6);
  EXPECT_NEAR(next_after(saves_every(10), 1, 24, {10, 20}), 0.6, 1e-6);
}

TEST(SaveRhythm, of_steps_begins_in_the_middle_after_a_resume) {
  EXPECT_NEAR(next_after(saves_every(10), 18, 20, {20}), 1, 1e-6);
  // As a signal, or every_epochs, may have it.
  EXPECT_NEAR(next_after(saves_every(10), 1, 17, {10, 17}), 0.3, 1e-6);
}

TEST(SaveRhythm, of_time_is_that_time) {
  EXPECT_NEAR(next_after(saves_every({}, 7), 1, 10, {10}), 7, 1e-6);
}

TEST(SaveRhythm, of_epochs_is_as_long_as_the_last_one) {
  EXPECT_NEAR(next_after(saves_every({}, {}, 1), 1, 33, {13, 33}), 2, 1e-6);
}

TEST(SaveRhythm, the_earliest_rule_counts) {
  EXPECT_NEAR(next_after(saves_every(100, 3), 1, 50, {50}), 3, 1e-6);
  EXPECT_NEAR(next_after(saves_every(20, 3), 1, 20, {20}), 2, 1e-6);
}

}  // namespace
}  // namespace stoker
