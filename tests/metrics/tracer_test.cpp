#include "io/metrics/tracer.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <latch>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/support/errors.h"

namespace stoker {
namespace {

// What a subscriber was given.
struct Received {
  std::mutex mutex;
  std::vector<TraceRow> rows;

  Tracer::Consumer consumer() {
    return [this](const TraceRow& row) {
      const std::lock_guard lock(mutex);
      rows.push_back(row);
    };
  }
  std::vector<int64_t> steps() {
    const std::lock_guard lock(mutex);
    std::vector<int64_t> result;
    for (const TraceRow& row : rows) {
      for (const TraceEvent& event : row.events) result.push_back(event.step);
    }
    return result;
  }
};

TraceEvent now(int64_t step = -1) {
  const TimePoint moment = Clock::now();
  return {"work", "test", moment, moment, 0, step};
}

void run_thread(const char* name, const std::function<void()>& work) {
  std::jthread([&] {
    pthread_setname_np(pthread_self(), name);
    work();
  }).join();
}

TEST(Tracer, keeps_nothing_while_nobody_wants_it) {
  Tracer tracer;
  tracer.record(now());
  tracer.record("device", now());
  EXPECT_FALSE(tracer.active());
  EXPECT_EQ(tracer.recorded(), 0);
}

TEST(Tracer, a_window_has_the_events_of_its_steps) {
  Tracer tracer;
  Received early, late;
  const auto first = tracer.subscribe({2, 3}, early.consumer());
  const auto second = tracer.subscribe({4, 2}, late.consumer());
  for (int64_t step = 0; step < 9; ++step) {
    tracer.record(now(step));
    EXPECT_EQ(tracer.active(), step >= 2 && step < 6) << step;
    tracer.at_step(step + 1);
  }
  first->deliver();
  EXPECT_EQ(early.steps(), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(late.steps(), (std::vector<int64_t>{4, 5}));
}

TEST(Tracer, an_event_belongs_to_the_window_in_which_it_begins) {
  Tracer tracer;
  Received received;
  const auto subscription = tracer.subscribe({1, 1}, received.consumer());
  TraceEvent before = now(0);
  tracer.at_step(1);
  TraceEvent inside = now(1);
  before.end = Clock::now();
  tracer.record(before);
  tracer.at_step(2);
  tracer.record(now(2));
  inside.end = Clock::now();
  tracer.record(inside);
  tracer.record("device", inside);
  subscription->deliver();
  EXPECT_EQ(received.steps(), (std::vector<int64_t>{1, 1}));
}

TEST(Tracer, each_thread_and_each_engine_has_its_row) {
  Tracer tracer;
  Received received;
  auto subscription = tracer.subscribe({}, received.consumer());
  std::latch both(2);
  std::vector<std::jthread> threads;
  for (const char* name : {"left", "right"}) {
    threads.emplace_back([&, name] {
      pthread_setname_np(pthread_self(), name);
      both.arrive_and_wait();
      for (int64_t i = 0; i < 3; ++i) tracer.record(now(i));
    });
  }
  threads.clear();
  tracer.record("device", now(0));
  tracer.record("copies", now(0));
  tracer.record("device", now(1));
  subscription.reset();  // hands on what is left
  std::map<std::string, std::vector<int64_t>> steps;
  std::map<std::string, std::set<int64_t>> ids;
  for (const TraceRow& row : received.rows) {
    for (const TraceEvent& event : row.events) steps[row.name].push_back(event.step);
    ids[row.name].insert(row.id);
  }
  const std::vector<int64_t> three{0, 1, 2};
  EXPECT_EQ(steps["left"], three);
  EXPECT_EQ(steps["right"], three);
  EXPECT_EQ(steps["device"], (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(ids["device"].size(), 1);
  EXPECT_LT(*ids["device"].begin(), 0);
  EXPECT_LT(*ids["copies"].begin(), 0);
  EXPECT_NE(ids["device"], ids["copies"]);
  EXPECT_NE(ids["left"], ids["right"]);
}

TEST(Tracer, a_thread_that_follows_another_in_its_slot_has_a_row_of_its_own) {
  Tracer tracer;
  Received received;
  const auto subscription = tracer.subscribe({}, received.consumer());
  run_thread("first", [&] { tracer.record(now(1)); });
  run_thread("second", [&] { tracer.record(now(2)); });
  subscription->deliver();
  ASSERT_EQ(received.rows.size(), 2);
  EXPECT_EQ(received.rows[0].name, "first");
  EXPECT_EQ(received.rows[1].name, "second");
  EXPECT_NE(received.rows[0].id, received.rows[1].id);
  EXPECT_EQ(received.rows[0].slot, received.rows[1].slot);
  EXPECT_EQ(received.steps(), (std::vector<int64_t>{1, 2}));
}

TEST(Tracer, what_comes_too_fast_is_dropped_and_counted) {
  constexpr int64_t kLimit = 1 << 16, kMore = 10;
  Tracer tracer;
  std::latch entered(1), go_on(1);
  std::atomic<int64_t> received{0};
  const auto subscription = tracer.subscribe({}, [&](const TraceRow& row) {
    if (received == 0) {
      entered.count_down();
      go_on.wait();
    }
    received += static_cast<int64_t>(row.events.size());
  });
  tracer.record(now());
  entered.wait();  // the tracer's thread delivers, and hangs in its consumer
  for (int64_t i = 0; i < kLimit + kMore; ++i) tracer.record(now());
  EXPECT_EQ(tracer.dropped(), kMore);
  EXPECT_EQ(tracer.recorded(), 1 + kLimit);
  go_on.count_down();
  subscription->deliver();
  EXPECT_EQ(received, 1 + kLimit);
  tracer.record(now());
  subscription->deliver();
  EXPECT_EQ(received, 2 + kLimit);
  EXPECT_EQ(tracer.dropped(), kMore);
}

TEST(Tracer, a_consumer_that_throws_gets_no_more_and_disturbs_no_other) {
  Tracer tracer;
  Received good;
  std::atomic<int> calls{0};
  const auto bad = tracer.subscribe({}, [&](const TraceRow&) {
    ++calls;
    throw std::runtime_error("the disk is full");
  });
  {
    const auto other = tracer.subscribe({}, good.consumer());
    tracer.record(now(1));
    EXPECT_EQ(error_of([&] { bad->deliver(); }), "the disk is full");
    tracer.record(now(2));
    EXPECT_NO_THROW(bad->deliver());
    other->deliver();
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(good.steps(), (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(tracer.active());
}

TEST(Tracer, hands_on_whole_rows_that_are_added_as_far_as_their_window_goes) {
  Tracer tracer;
  Received received;
  const TraceEvent before = now(1);
  tracer.add({{kFileRow, "/data/early", {before}}});
  const auto window = tracer.subscribe({}, received.consumer());
  tracer.add({{kFileRow, "/data/a", {before, now(2), now(3)}}, {kFileRow, "/data/b", {before}}});
  window->deliver();
  EXPECT_EQ(received.steps(), (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(received.rows.size(), 1U);
  EXPECT_EQ(received.rows[0].name, "/data/a");
  EXPECT_EQ(received.rows[0].id, kFileRow);
  window->deliver();
  EXPECT_EQ(received.rows.size(), 1U);
  EXPECT_EQ(tracer.dropped(), 0);
}

TEST(Tracer, loses_nothing_when_many_threads_record_at_once) {
  constexpr int64_t kThreads = 8, kEvents = 5000;
  Tracer tracer;
  std::atomic<int64_t> received{0};
  auto all = tracer.subscribe(
      {}, [&](const TraceRow& row) { received += static_cast<int64_t>(row.events.size()); });
  std::vector<std::jthread> threads;
  for (int64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int64_t event = 0; event < kEvents; ++event) {
        if (event % 2 == 0) {
          tracer.record(now());
        } else {
          tracer.record("device", now());
        }
      }
    });
  }
  for (int64_t step = 1; step <= 50; ++step) {
    Received some;
    const auto passing = tracer.subscribe({step, 1}, some.consumer());
    tracer.at_step(step);
    all->deliver();
  }
  threads.clear();
  all.reset();
  EXPECT_EQ(received + tracer.dropped(), kThreads * kEvents);
  EXPECT_EQ(received, tracer.recorded());
  EXPECT_FALSE(tracer.active());
}

}  // namespace
}  // namespace stoker
