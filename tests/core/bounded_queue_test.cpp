#include "io/core/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/support/errors.h"

namespace stoker {
namespace {

TEST(BoundedQueue, keeps_the_order_and_never_holds_more_than_its_capacity) {
  BoundedQueue<int> queue(2);
  std::atomic<int> inside{0}, most{0};
  std::jthread producer([&] {
    for (int i = 0; i < 1000; ++i) {
      queue.push(i);
      most = std::max(most.load(), ++inside);
    }
    queue.close();
  });
  int expected = 0;
  while (const auto item = queue.pop()) {
    --inside;
    EXPECT_EQ(*item, expected++);
  }
  EXPECT_EQ(expected, 1000);
  // One more than the capacity is on its way into the consumer's hands.
  EXPECT_LE(most, 3);
}

TEST(BoundedQueue, an_error_comes_after_the_items_before_it) {
  BoundedQueue<int> queue(4);
  queue.push(1);
  queue.close(std::make_exception_ptr(std::runtime_error("broken")));
  EXPECT_FALSE(queue.push(2));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(error_of([&] { queue.pop(); }), "broken");
}

TEST(BoundedQueue, close_wakes_a_blocked_producer) {
  BoundedQueue<int> queue(1);
  queue.push(1);
  std::jthread producer([&] { EXPECT_FALSE(queue.push(2)); });
  queue.close();
  producer.join();
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

}  // namespace
}  // namespace stoker
