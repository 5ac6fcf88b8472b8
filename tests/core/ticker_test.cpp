#include <gtest/gtest.h>

#include <atomic>

#include "io/core/threads.h"

namespace stoker {
namespace {

TEST(Ticker, calls_again_and_again_until_it_ends) {
  std::atomic<int> calls = 0;
  {
    const Ticker ticker("ticker-test", std::chrono::milliseconds(1), [&] { ++calls; });
    while (calls < 3) std::this_thread::yield();
  }
  const int before = calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(calls, before);
}

TEST(Ticker, ends_in_the_midst_of_a_pause) {
  const Ticker ticker("ticker-test", std::chrono::hours(1), [] { FAIL(); });
}

}  // namespace
}  // namespace stoker
