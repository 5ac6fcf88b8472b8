#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "io/core/bounded_queue.h"
#include "io/core/threads.h"

namespace stoker {
namespace {

using std::chrono::hours;
using std::chrono::steady_clock;

// Runs `wait` in a thread, tells it to give up once it has begun, and expects that it does.
template <class Wait>
void expect_interrupted(const Wait& wait) {
  std::atomic<bool> begun = false;
  std::jthread thread([&](const std::stop_token& stop) {
    const Interruptible scope(stop);
    begun = true;
    begun.notify_all();
    EXPECT_THROW(wait(), Interrupted);
  });
  begun.wait(false);
  thread.request_stop();
}

TEST(Interruption, ends_a_sleep) {
  expect_interrupted([] { sleep_interruptibly(steady_clock::now() + hours(1)); });
}

TEST(Interruption, ends_a_wait_for_a_queue_which_keeps_its_items) {
  BoundedQueue<int> queue(2);
  expect_interrupted([&] { queue.pop(); });
  queue.push(1);
  EXPECT_EQ(queue.pop(), 1);
}

TEST(Interruption, ends_no_wait_for_what_is_there) {
  std::stop_source source;
  source.request_stop();
  const Interruptible scope(source.get_token());
  BoundedQueue<int> queue(2);
  queue.push(1);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_THROW(queue.pop(), Interrupted);
}

TEST(Interruption, reaches_the_threads_that_work_for_one) {
  std::atomic<int> sleeping = 0;
  std::jthread caller([&](const std::stop_token& stop) {
    const Interruptible scope(stop);
    EXPECT_THROW(parallel_for(3, 3,
                              [&](int64_t) {
                                ++sleeping;
                                sleep_interruptibly(steady_clock::now() + hours(1));
                              }),
                 Interrupted);
  });
  while (sleeping < 3) std::this_thread::yield();
  caller.request_stop();
}

TEST(Interruption, is_of_the_innermost_scope_and_over_behind_it) {
  std::stop_source source;
  source.request_stop();
  {
    const Interruptible outer(source.get_token());
    EXPECT_THROW(throw_if_interrupted(), Interrupted);
    {
      const Interruptible inner((std::stop_token()));
      throw_if_interrupted();
    }
    EXPECT_THROW(throw_if_interrupted(), Interrupted);
  }
  throw_if_interrupted();
}

}  // namespace
}  // namespace stoker
