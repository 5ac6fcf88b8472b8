#include <gtest/gtest.h>

#include <algorithm>

#include "io/metrics/course/history.h"

namespace stoker {
namespace {

Evaluation evaluation(int64_t step, double top1, double top5 = 0) {
  return {step / 5, step, 100, {{"top1", top1}, {"top5", top5}}, 0.1};
}

std::vector<int64_t> steps_of(const Evaluations& evaluations) {
  std::vector<int64_t> steps;
  for (const Evaluation& each : evaluations.kept()) steps.push_back(each.step);
  return steps;
}

TEST(Evaluations, a_few_are_all_kept) {
  Evaluations few(8);
  for (int64_t step = 5; step <= 40; step += 5) few.add(evaluation(step, 0.5));
  EXPECT_EQ(steps_of(few), (std::vector<int64_t>{5, 10, 15, 20, 25, 30, 35, 40}));
}

TEST(Evaluations, many_are_a_bounded_number_that_lies_evenly) {
  Evaluations many;
  size_t most = 0;
  for (int64_t i = 1; i <= 100'000; ++i) {
    many.add(evaluation(5 * i, 0.5));
    most = std::max(most, many.kept().size());
  }
  EXPECT_LE(most, 512u);
  EXPECT_GE(many.kept().size(), 120u);
  const std::vector<int64_t> steps = steps_of(many);
  EXPECT_EQ(steps.front(), 5);
  EXPECT_EQ(steps.back(), 500'000);
  for (size_t i = 1; i < steps.size(); ++i) {
    EXPECT_GT(steps[i], steps[i - 1]);
    EXPECT_LE(steps[i] - steps[i - 1], 500'000 / 100);
  }
}

TEST(Evaluations, the_best_by_each_measure_stay) {
  Evaluations many(16);
  for (int64_t step = 1; step <= 10'000; ++step) {
    many.add(evaluation(step, step == 4'321 ? 0.9 : 0.5, step == 77 ? 0.99 : 0.6));
  }
  const std::vector<int64_t> steps = steps_of(many);
  EXPECT_TRUE(std::ranges::count(steps, 4'321) == 1);
  EXPECT_TRUE(std::ranges::count(steps, 77) == 1);
  EXPECT_LE(steps.size(), 16u);
}

TEST(Evaluations, of_one_step_are_bounded_too) {
  Evaluations many(16);
  for (int i = 0; i < 1'000; ++i) many.add(evaluation(7, 0.5));
  EXPECT_LE(many.kept().size(), 16u);
}

TEST(Evaluations, go_on_from_what_was_kept_before) {
  Evaluations before(64), after(64);
  for (int64_t step = 1; step <= 1'000; ++step) before.add(evaluation(step, step == 500 ? 1 : 0));
  for (const Evaluation& each : before.kept()) after.add(each);
  EXPECT_EQ(steps_of(after), steps_of(before));
  for (int64_t step = 1'001; step <= 2'000; ++step) after.add(evaluation(step, 0));
  EXPECT_EQ(std::ranges::count(steps_of(after), 500), 1);
  EXPECT_LE(after.kept().size(), 64u);
}

TEST(Evaluations, measures_that_are_no_accuracy_are_named) {
  const Evaluation both{0, 0, 1, {{"auc", 0.75}, {"top1", 0.5}, {"chance", 0.1}}, 0};
  EXPECT_EQ(other_measures(both), (std::vector<std::pair<std::string, double>>{{"auc", 0.75}}));
}

}  // namespace
}  // namespace stoker
