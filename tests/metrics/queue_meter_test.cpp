#include "io/metrics/queue_meter.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace stoker {
namespace {

// What passes between two states, of which nothing else is known than that it takes some time.
struct Passed {
  double observed, empty, full, item_seconds;
};
Passed passes(const QueueMeter& queue) {
  const QueueMeter::State before = queue.state();
  while (queue.state().observed_s == before.observed_s) {
  }
  const QueueMeter::State after = queue.state();
  return {after.observed_s - before.observed_s, after.empty_s - before.empty_s,
          after.full_s - before.full_s, after.item_seconds - before.item_seconds};
}

TEST(QueueMeter, time_is_empty_full_or_neither) {
  QueueMeter queue("ready", 2);
  Passed passed = passes(queue);
  EXPECT_DOUBLE_EQ(passed.empty, passed.observed);
  EXPECT_EQ(passed.full, 0);
  EXPECT_EQ(passed.item_seconds, 0);
  queue.put();
  passed = passes(queue);
  EXPECT_EQ(passed.empty, 0);
  EXPECT_EQ(passed.full, 0);
  EXPECT_NEAR(passed.item_seconds, passed.observed, 1e-9);
  queue.put();
  passed = passes(queue);
  EXPECT_EQ(passed.empty, 0);
  EXPECT_NEAR(passed.full, passed.observed, 1e-9);
  EXPECT_NEAR(passed.item_seconds, 2 * passed.observed, 1e-9);
}

TEST(QueueMeter, fill_is_items_by_capacity) {
  QueueMeter queue("device", 4);
  for (int i = 0; i < 3; ++i) queue.put();
  EXPECT_DOUBLE_EQ(queue.fill(), 0.75);
  queue.get(2);
  EXPECT_DOUBLE_EQ(queue.fill(), 0.25);
  const QueueMeter::State state = queue.state();
  EXPECT_EQ(state.name, "device");
  EXPECT_EQ(state.items, 1);
  EXPECT_EQ(state.capacity, 4);
}

TEST(QueueMeter, takes_any_thread) {
  QueueMeter queue("ready", 8);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 1000; ++n) {
          queue.put();
          queue.get();
        }
        queue.put();
      });
    }
    EXPECT_GE(queue.state().observed_s, 0);
  }
  const QueueMeter::State state = queue.state();
  EXPECT_EQ(state.items, 4);
  EXPECT_LE(state.empty_s + state.full_s, state.observed_s + 1e-9);
}

}  // namespace
}  // namespace stoker
