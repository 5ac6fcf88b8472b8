#include "app/run/stop_signal.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "io/core/interruption.h"

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
