#include <numbers>

#include "tests/models/optimizers/optimizers.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

constexpr Schedule::Inputs kRun{100, 10};  // ten epochs of ten steps

std::vector<double> factors(const std::string& yaml, const std::vector<int64_t>& steps) {
  const auto schedule = make<Schedule>(yaml, kRun);
  std::vector<double> result;
  for (const int64_t step : steps) result.push_back(schedule->factor(step));
  return result;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
}

std::string error(const std::string& yaml) {
  return error_of([&] { make<Schedule>(yaml, kRun); });
}

TEST(Constant, is_one_throughout) {
  expect_near(factors("{type: constant}", {0, 50, 99, 1000}), {1, 1, 1, 1});
}

TEST(Warmup, rises_linearly_and_is_full_after_its_steps) {
  expect_near(factors("{type: constant, warmup_steps: 4}", {0, 1, 2, 3, 4, 5}),
              {0.2, 0.4, 0.6, 0.8, 1, 1});
}

TEST(Warmup, may_be_given_in_epochs) {
  const auto steps = make<Schedule>("{type: cosine, warmup_steps: 20}", kRun);
  const auto epochs = make<Schedule>("{type: cosine, warmup_epochs: 2}", kRun);
  for (int64_t step = 0; step < 100; ++step) EXPECT_EQ(steps->factor(step), epochs->factor(step));
}

TEST(Warmup, is_given_in_one_unit) {
  for (const char* type : {"constant", "cosine", "step, every_steps: 1"}) {
    const std::string head = "{type: " + std::string(type) + ", warmup_steps: 1, warmup_epochs: ";
    EXPECT_EQ(error(head + "1}"),
              "test.yaml:1:" + std::to_string(head.size() + 1) +
                  ": schedule: 'warmup_epochs' cannot be given beside warmup_steps");
  }
}

TEST(Step, decays_every_so_many_epochs) {
  expect_near(factors("{type: step, every_epochs: 3}", {0, 29, 30, 59, 60, 99}),
              {1, 1, 0.1, 0.1, 0.01, 0.001});
}

TEST(Step, decays_every_so_many_steps_by_gamma) {
  expect_near(factors("{type: step, every_steps: 5, gamma: 0.5}", {0, 4, 5, 9, 10}),
              {1, 1, 0.5, 0.5, 0.25});
}

TEST(Step, warm_up_comes_on_top) {
  expect_near(factors("{type: step, every_steps: 2, gamma: 0.5, warmup_steps: 3}", {0, 1, 2, 3, 4}),
              {0.25, 0.5, 0.375, 0.5, 0.25});
}

TEST(Step, needs_one_interval) {
  EXPECT_EQ(error("{type: step}"),
            "test.yaml:1:1: 'schedule' needs either every_epochs or every_steps: set "
            "schedule.every_epochs=30");
  EXPECT_EQ(error("{type: step, every_epochs: 1, every_steps: 1}"),
            "test.yaml:1:1: 'schedule' needs either every_epochs or every_steps: set "
            "schedule.every_epochs=30");
}

TEST(Cosine, falls_from_one_to_zero_over_the_run) {
  expect_near(factors("{type: cosine}", {0, 25, 50, 75, 100}),
              {1, (1 + std::numbers::sqrt2 / 2) / 2, 0.5, (1 - std::numbers::sqrt2 / 2) / 2, 0});
}

TEST(Cosine, ends_at_its_floor) {
  expect_near(factors("{type: cosine, floor: 0.1}", {0, 50, 100, 101}), {1, 0.55, 0.1, 0.1});
}

TEST(Cosine, starts_after_the_warm_up) {
  expect_near(factors("{type: cosine, warmup_steps: 20}", {19, 20, 60, 100}),
              {20.0 / 21, 1, 0.5, 0});
}

TEST(Cosine, a_run_shorter_than_its_warm_up_rises_to_its_end) {
  const auto schedule = make<Schedule>("{type: cosine, warmup_steps: 199}", kRun);
  for (int64_t step = 0; step < 100; ++step) {
    EXPECT_NEAR(schedule->factor(step), static_cast<double>(step + 1) / 200, 1e-12);
  }
}

}  // namespace
}  // namespace stoker
