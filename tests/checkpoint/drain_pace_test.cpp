#include "io/checkpoint/drain/drain_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/checkpoint_run.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMillion = 1'000'000;
const DrainLimit kAuto{};
const DrainLimit kFixed{ByteSize{10 * kMillion}};

// How often go_on() was asked while `bytes` passed; it says no after `most` times.
int asked(DrainPace& pace, uint64_t bytes, int most = 1000) {
  int times = 0;
  pace.passed(bytes, [&] { return ++times < most; });
  return times;
}

// Steps of a training that takes no time: a second each, of which a share is waiting.
void train_on(InputWait& input, int steps, double share) {
  for (int i = 0; i < steps; ++i) input.add({1, share});
}

TEST(DrainPace, without_a_limit_or_a_training_to_follow_waits_for_nothing) {
  for (const std::optional<DrainLimit>& limit :
       {std::optional<DrainLimit>(), std::optional(kAuto)}) {
    DrainPace pace(limit, {});
    EXPECT_FALSE(pace.limited());
    pace.begin(1e12);
    EXPECT_EQ(asked(pace, 1'000'000 * kMillion), 0);
    EXPECT_EQ(pace.end(), "");
  }
}

TEST(DrainPace, keeps_to_a_fixed_limit_as_long_as_it_may) {
  DrainPace pace(kFixed, {});
  EXPECT_TRUE(pace.limited());
  EXPECT_FALSE(pace.follows());
  pace.begin(1e12);
  const TimePoint begin = Clock::now();
  for (int i = 0; i < 4; ++i) EXPECT_GT(asked(pace, kMillion / 2), 1);
  EXPECT_GE(seconds(Clock::now() - begin), 0.2 - 0.02);
  pace.free(true);
  EXPECT_GT(asked(pace, kMillion / 2), 1);
  EXPECT_EQ(asked(pace, 1'000'000 * kMillion, 3), 3);
}

TEST(DrainPace, that_follows_begins_slowly_and_is_free_when_training_has_ended) {
  InputWait input;
  DrainPace pace(kAuto, {.input = &input, .meter = nullptr, .next_save = {}});
  EXPECT_TRUE(pace.follows());
  pace.begin(1e12);
  EXPECT_EQ(asked(pace, 1000 * kMillion, 5), 5);
  pace.free(true);
  EXPECT_EQ(asked(pace, 1000 * kMillion), 0);
  pace.free(false);
  EXPECT_EQ(asked(pace, 1000 * kMillion, 5), 5);
}

TEST(DrainPace, that_follows_has_what_the_next_save_needs) {
  InputWait input;
  const TimePoint next = Clock::now() + std::chrono::seconds(1000);
  DrainPace pace(kAuto, {.input = &input, .meter = nullptr, .next_save = [&] { return next; }});
  pace.begin(900'000. * kMillion);  // 1 GB/s, as nine tenths of the time have to do
  const TimePoint begin = Clock::now();
  for (int i = 0; i < 20; ++i) asked(pace, 10 * kMillion);
  const double took = seconds(Clock::now() - begin);
  EXPECT_GE(took, 0.2 - 0.05);
  EXPECT_EQ(asked(pace, 100'000 * kMillion, 5), 5);
}

TEST(DrainPace, says_what_it_did_and_what_training_suffered) {
  Tracer tracer;
  CheckpointMeter meter(tracer);
  InputWait input;
  DrainPace pace(kAuto, {.input = &input, .meter = &meter, .next_save = {}});
  train_on(input, 2, 0);
  pace.rested();
  train_on(input, 20, 0);
  pace.rested();
  EXPECT_EQ(meter.state().drain_limit, std::nullopt);
  pace.begin(1e9);
  EXPECT_EQ(meter.state().drain_limit, DrainController::kSlowest);
  EXPECT_EQ(meter.state().drain_decisions, std::nullopt);
  train_on(input, 1, 0.1);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  asked(pace, 1, 2);
  const std::string remark = pace.end();
  EXPECT_THAT(remark, HasSubstr("4.0 to 4.0 MB/s, 1 times lowered"));
  EXPECT_THAT(remark, HasSubstr("the input 11.11 % slower"));
  const CheckpointMeter::State state = meter.state();
  EXPECT_NEAR(*state.drain_slowdown, 0.1 / 0.9, 1e-6);
  EXPECT_EQ((*state.drain_decisions)[static_cast<size_t>(DrainDecision::lowered)], 1);
}

TEST(DrainLimit, is_a_size_or_auto) {
  const auto start = [](const std::string& limit) {
    CheckpointRun run;
    run.start(kBurst + ", drain_limit: " + limit);
    EXPECT_TRUE(run.save(1));
    EXPECT_TRUE(run->flush());
    EXPECT_TRUE(run.intact("slow", 1));
  };
  start("auto");
  start("100MiB");
  EXPECT_THAT(error_of([&] { start("quick"); }), HasSubstr("must be auto or a size"));
  EXPECT_THAT(error_of([&] { start("0"); }), HasSubstr("must be above 0"));
}

}  // namespace
}  // namespace stoker
