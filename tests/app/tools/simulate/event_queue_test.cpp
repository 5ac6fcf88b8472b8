#include "app/tools/simulate/event_queue.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(EventQueue, gives_events_by_time_and_equal_ones_in_their_order) {
  EventQueue queue;
  queue.add(30, SimEventKind::item, 1);
  queue.add(10, SimEventKind::item, 2);
  queue.add(30, SimEventKind::request, 3);
  queue.add(20, SimEventKind::checkpoint, 4);
  queue.add(30, SimEventKind::item, 5);
  std::vector<uint32_t> order;
  while (!queue.empty()) order.push_back(queue.take().who);
  EXPECT_EQ(order, (std::vector<uint32_t>{2, 4, 1, 3, 5}));
  EXPECT_EQ(queue.taken(), 5u);
}

TEST(EventQueue, of_many_equal_events_the_first_comes_first) {
  EventQueue queue;
  for (size_t i = 0; i < 100'000; ++i) queue.add(7, SimEventKind::item, i);
  for (uint32_t i = 0; i < 100'000; ++i) ASSERT_EQ(queue.take().who, i);
}

TEST(EventQueue, an_event_is_16_bytes) { EXPECT_EQ(sizeof(SimEvent), 16u); }

}  // namespace
}  // namespace stoker
