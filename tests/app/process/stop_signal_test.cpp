#include "app/process/stop_signal.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "io/core/threads.h"

namespace stoker {
namespace {

TEST(StopSignal, wakes_whoever_waits_with_its_token) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    StopSignal stop;
    std::jthread waits([&] {
      const Interruptible scope(stop.token());
      EXPECT_THROW(sleep_interruptibly(Clock::now() + std::chrono::hours(1)), Interrupted);
    });
    EXPECT_FALSE(stop.requested());
    std::raise(signal);
    waits.join();
    EXPECT_EQ(stop.number(), signal);
    EXPECT_EQ(stop.exit_code(), signal == SIGINT ? ExitCode::sigint : ExitCode::sigterm);
  }
}

TEST(StopSignal, that_comes_twice_at_once_is_one_request) {
  const StopSignal stop;
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  EXPECT_EQ(stop.number(), SIGTERM);
}

TEST(StopSignal, that_comes_again_later_ends_the_process) {
  EXPECT_EXIT(
      {
        const StopSignal stop;
        for (;;) {
          std::raise(SIGTERM);
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignal, is_the_first_of_several) {
  const StopSignal stop;
  std::raise(SIGUSR1);
  const std::optional<TimePoint> when = stop.when();
  std::raise(SIGINT);
  EXPECT_EQ(stop.number(), SIGUSR1);
  EXPECT_EQ(stop.when(), when);
}

// What another rank got is no first signal of this process: its own may come much later.
TEST(StopSignal, of_another_rank_and_then_its_own_is_one_request) {
  StopSignal stop;
  stop.adopt(SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::raise(SIGTERM);
  EXPECT_EQ(stop.number(), SIGTERM);
}

TEST(StopSignal, may_be_a_terminal_that_goes_away) {
  std::signal(SIGHUP, SIG_DFL);
  const StopSignal stop;
  std::raise(SIGHUP);
  EXPECT_EQ(stop.exit_code(), ExitCode::sigterm);
}

TEST(StopSignal, leaves_sighup_ignored_where_it_was) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const StopSignal stop;
    std::raise(SIGHUP);
    EXPECT_FALSE(stop.requested());
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST(StopSignal, of_another_rank_wakes_as_well) {
  StopSignal stop;
  std::jthread waits([&] {
    const Interruptible scope(stop.token());
    EXPECT_THROW(sleep_interruptibly(Clock::now() + std::chrono::hours(1)), Interrupted);
  });
  stop.adopt(SIGTERM);
}

TEST(StopSignal, that_never_comes_asks_nobody) {
  std::stop_token token;
  {
    const StopSignal stop;
    token = stop.token();
  }
  EXPECT_FALSE(token.stop_requested());
}

}  // namespace
}  // namespace stoker
