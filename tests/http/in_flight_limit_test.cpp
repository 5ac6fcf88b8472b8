#include "io/http/in_flight_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "io/core/random.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;

// A server that answers `capacity` requests at a time in 10 ms each, and has a queue for the rest.
struct QueueingServer {
  int64_t capacity;
  double slow_share = 0;
  Random random{1};

  // As many answers as that, each with as many requests in flight as the limit allows.
  void answer(InFlightLimit& limit, int answers, uint64_t bytes = 1000) {
    for (int i = 0; i < answers; ++i) {
      const int64_t in_flight = limit.limit();
      const double load = static_cast<double>(in_flight) / static_cast<double>(capacity);
      const double noise = random.uniform(0.7, 1.3);
      const double slow = random.uniform() < slow_share ? 50 : 1;
      limit.answered(bytes, from_seconds(0.01 * noise * slow * std::max(1.0, load)), in_flight);
    }
  }
};

TEST(InFlightLimits, a_number_stays) {
  InFlightLimit limit(7);
  QueueingServer{1}.answer(limit, 1000);
  limit.failed();
  EXPECT_EQ(limit.limit(), 7);
  EXPECT_EQ(limit.most(), 7);
}

TEST(InFlightLimits, grows_as_long_as_the_server_keeps_up) {
  InFlightLimit limit(0);
  EXPECT_EQ(limit.limit(), InFlightLimit::kFirst);
  QueueingServer{10000}.answer(limit, 5000);
  EXPECT_EQ(limit.limit(), InFlightLimit::kMost);
  EXPECT_EQ(limit.most(), InFlightLimit::kMost);
}

TEST(InFlightLimits, does_not_grow_where_it_is_not_reached) {
  InFlightLimit limit(0);
  for (int i = 0; i < 5000; ++i) limit.answered(1000, 10ms, 3);
  EXPECT_EQ(limit.limit(), InFlightLimit::kFirst);
}

TEST(InFlightLimits, ends_near_what_the_server_does_at_a_time) {
  for (const int64_t capacity : {8, 30, 100}) {
    InFlightLimit limit(0);
    QueueingServer server{capacity};
    server.answer(limit, 30000);
    int64_t least = InFlightLimit::kMost, most = 0;
    for (int i = 0; i < 300; ++i) {
      server.answer(limit, 100);
      least = std::min(least, limit.limit());
      most = std::max(most, limit.limit());
    }
    EXPECT_GE(least, capacity / 2) << capacity;  // a window of half as many now and then
    EXPECT_LE(most, capacity * 5 / 2) << capacity;
  }
}

// As above, but what is in flight when the limit falls still waits in the server's queue.
TEST(InFlightLimits, what_waited_in_a_queue_is_no_base) {
  struct Request {
    double begun, done;
  };
  constexpr double kTakes = 0.01;
  constexpr int64_t kCapacity = 30;
  InFlightLimit limit(0);
  std::deque<Request> in_flight;
  double now = 0, last_done = 0;
  int64_t most = 0;
  for (int i = 0; i < 100000; ++i) {
    while (std::ssize(in_flight) < limit.limit()) {
      last_done = std::max(now + kTakes, last_done + kTakes / kCapacity);
      in_flight.push_back({now, last_done});
    }
    const Request first = in_flight.front();
    now = first.done;
    limit.answered(1000, from_seconds(now - first.begun), std::ssize(in_flight));
    in_flight.pop_front();
    most = std::max(most, limit.limit());
  }
  EXPECT_GE(most, kCapacity);
  EXPECT_LE(most, kCapacity * 5 / 2);
}

TEST(InFlightLimits, a_few_slow_answers_change_nothing) {
  InFlightLimit limit(0);
  QueueingServer{10000, 0.02}.answer(limit, 5000);
  EXPECT_EQ(limit.limit(), InFlightLimit::kMost);
}

TEST(InFlightLimits, answers_of_other_sizes_are_not_compared) {
  InFlightLimit limit(0);
  for (int i = 0; i < 5000; ++i) {
    const bool large = i % 2 == 0;
    limit.answered(large ? 8 << 20 : 1000, large ? 500ms : 10ms, limit.limit());
  }
  EXPECT_EQ(limit.limit(), InFlightLimit::kMost);
}

TEST(InFlightLimits, a_busy_server_gets_fewer_once_a_window) {
  InFlightLimit limit(0);
  for (int i = 0; i < 10; ++i) limit.failed();
  EXPECT_EQ(limit.limit(), 11);
  for (int window = 0; window < 10; ++window) {
    for (int i = 0; i < 16; ++i) limit.answered(1000, 10ms, 1);
    limit.failed();
  }
  EXPECT_EQ(limit.limit(), InFlightLimit::kLeast);
}

}  // namespace
}  // namespace stoker
