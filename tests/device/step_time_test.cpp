#include "io/device/step_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "tests/support/errors.h"

namespace stoker {
namespace {

class Distributions : public ::testing::TestWithParam<std::pair<const char*, StepTime::Type>> {};

TEST_P(Distributions, have_the_mean_and_the_deviation_that_were_asked_for) {
  for (const double relative : {0.05, 0.3}) {
    const StepTime time{GetParam().second, relative};
    constexpr int kSteps = 40000;
    double sum = 0, squares = 0;
    for (int step = 0; step < kSteps; ++step) {
      const double sample = time.sample(20, 1, step);
      EXPECT_GE(sample, 0);
      sum += sample;
      squares += sample * sample;
    }
    const double mean = sum / kSteps;
    EXPECT_NEAR(mean, 20, 20 * relative * 0.02);
    EXPECT_NEAR(std::sqrt(squares / kSteps - mean * mean), 20 * relative, 20 * relative * 0.03);
  }
}

TEST_P(Distributions, are_pure_functions_of_seed_and_step) {
  const StepTime time{GetParam().second, 0.2};
  EXPECT_EQ(time.sample(20, 1, 7), time.sample(20, 1, 7));
  EXPECT_NE(time.sample(20, 1, 7), time.sample(20, 1, 8));
  EXPECT_NE(time.sample(20, 1, 7), time.sample(20, 2, 7));
}

INSTANTIATE_TEST_SUITE_P(Types, Distributions,
                         ::testing::Values(std::pair("normal", StepTime::Type::normal),
                                           std::pair("lognormal", StepTime::Type::lognormal),
                                           std::pair("gamma", StepTime::Type::gamma)),
                         [](const auto& param) { return std::string(param.param.first); });

TEST(StepTime, gamma_of_a_large_deviation_is_right_too) {
  const StepTime time{StepTime::Type::gamma, 2};
  double sum = 0;
  for (int step = 0; step < 40000; ++step) sum += time.sample(1, 3, step);
  EXPECT_NEAR(sum / 40000, 1, 0.05);
}

TEST(StepTime, is_the_mean_where_nothing_deviates) {
  EXPECT_EQ(StepTime{}.sample(20, 1, 5), 20);
  EXPECT_EQ((StepTime{StepTime::Type::normal, 0}).sample(20, 1, 5), 20);
  EXPECT_EQ((StepTime{StepTime::Type::gamma, 0.5}).sample(0, 1, 5), 0);
}

TEST(StepTime, presets_are_as_measured_or_scaled) {
  EXPECT_NEAR(preset(Accelerator::k4000).images_per_s, 186.1, 0.1);
  EXPECT_NEAR(preset(Accelerator::k80).images_per_s, 656, 0);
  EXPECT_EQ(preset(Accelerator::h100).images_per_s, 35500);
  EXPECT_EQ(preset(Accelerator::h200).images_per_s, 35500);
}

TEST(StepTime, describe_states_the_source_of_every_preset) {
  const std::string help = preset_help();
  for (const auto& [name, accelerator] : enum_names(Accelerator{})) {
    EXPECT_NE(help.find(std::string(name) + ": " + preset(accelerator).source), std::string::npos);
  }
}

}  // namespace
}  // namespace stoker
