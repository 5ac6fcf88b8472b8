#include "app/tools/mount/reply_schedule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace stoker {
namespace {

using namespace std::chrono_literals;
using ReadKind = TierOperation::Kind;

constexpr TimePoint kBegin{1000s};

// Only the address counts; nobody looks at them.
MountRequest* request(uintptr_t number) {
  return reinterpret_cast<MountRequest*>(number);  // NOLINT(performance-no-int-to-ptr)
}

// 1 MB/s and 10 ms, as many at once as there are; time passes only where a test says so.
struct RepliesInOrder : testing::Test {
  static TierDevice device() {
    TierCosts costs{1e6, 1e6, 10ms, 10ms, 30ms};
    costs.queue_depth = 100;
    return {costs, std::make_shared<TierShare>()};
  }
  TimePoint now = kBegin;
  Tracer tracer;
  TierMeter meter{"tier", "emulated", true, tracer};
  TierModel model{device(), &meter, {[this] { return now; }, [](TimePoint) {}}};
  ReplySchedule schedule;

  void read(uintptr_t number, uint64_t bytes, pid_t reader = 1) {
    schedule.arrive(request(number), reader, model, {ReadKind::read, bytes, number}, now);
  }
  // Lets time pass until the next one is due, and begins to answer it.
  ReplySchedule::Due next() {
    for (;;) {
      if (const auto due = schedule.pop(now)) {
        schedule.answering(*due, 0us);
        return *due;
      }
      now = *schedule.next();
    }
  }
  // The same; when that is.
  Clock::duration next_at() {
    const ReplySchedule::Due due = next();
    schedule.answered(due, now);
    return now - kBegin;
  }
};

TEST_F(RepliesInOrder, an_answer_is_due_when_the_device_is_through) {
  EXPECT_FALSE(schedule.next());
  read(7, 1000);
  EXPECT_FALSE(schedule.pop(now));
  const ReplySchedule::Due due = next();
  EXPECT_EQ(due.request, request(7));
  EXPECT_EQ(now - kBegin, 11ms);
  EXPECT_EQ(due.arrival, kBegin);
  EXPECT_EQ(due.modelled - kBegin, 11ms);
  EXPECT_FALSE(schedule.next());
}

TEST_F(RepliesInOrder, metadata_takes_its_latency) {
  schedule.arrive(request(1), 1, model, {ReadKind::metadata}, now);
  EXPECT_EQ(next_at(), 30ms);
}

TEST_F(RepliesInOrder, latencies_pass_together_and_bytes_one_after_the_other) {
  read(1, 1000);
  read(2, 1000);
  EXPECT_EQ(next_at(), 11ms);
  EXPECT_EQ(next_at(), 12ms);
}

TEST_F(RepliesInOrder, a_short_request_passes_a_long_one) {
  read(1, 200'000);
  now += 1ms;
  read(2, 1000);
  EXPECT_EQ(next().request, request(2));
  EXPECT_EQ(next().request, request(1));
  EXPECT_EQ(now - kBegin, 211ms);
}

TEST_F(RepliesInOrder, the_own_cost_is_taken_off_before_and_after) {
  schedule.set_cost({5us, 20us, 1e-9, 0us});
  read(1, 1000);
  EXPECT_EQ(next_at(), 11ms - 5us - 20us - 1us);
}

TEST_F(RepliesInOrder, who_was_answered_late_gets_it_back_with_the_next_request) {
  read(1, 1000);
  const ReplySchedule::Due due = next();
  now += 300us;
  schedule.answered(due, now);
  read(2, 1000);
  EXPECT_EQ(next_at(), 22ms);
}

TEST_F(RepliesInOrder, who_was_answered_early_pays_it_back) {
  schedule.set_cost({0us, 50us, 0, 10us});
  read(1, 1000);
  const ReplySchedule::Due due = next();
  EXPECT_EQ(now - kBegin, 11ms - 50us);
  now += 15us;  // and the reader goes on 10 us later, 25 us too early
  schedule.answered(due, now);
  now += 10us;
  read(2, 1000);
  EXPECT_EQ(next().modelled - kBegin, 22ms);
}

TEST_F(RepliesInOrder, a_request_begins_no_earlier_than_its_reader_was_through_with_the_last) {
  schedule.set_cost({30us, 20us, 0, 10us});
  read(1, 0);
  const ReplySchedule::Due due = next();
  EXPECT_EQ(now - kBegin, 10ms - 30us - 20us);
  now += 5us;
  schedule.answered(due, now);
  now += 25us;  // 40 us are between the two for one whom our cost is true of
  read(2, 0);
  EXPECT_EQ(next().modelled - due.modelled, 10ms);
}

TEST_F(RepliesInOrder, noise_of_a_cost_that_is_right_in_the_mean_changes_nothing) {
  schedule.set_cost({30us, 20us, 0, 10us});
  TimePoint first;
  for (int i = 0; i < 1000; ++i) {
    read(1, 0);
    const ReplySchedule::Due due = next();
    if (i == 0) first = due.modelled;
    schedule.answered(due, now);
    now += i % 2 == 0 ? 25us : 55us;  // 40 us in the mean
  }
  read(1, 0);
  const Clock::duration took = next().modelled - first;
  EXPECT_GE(took, 1000 * 10ms);
  EXPECT_LE(took, 1000 * 10ms + 30us);
}

TEST_F(RepliesInOrder, who_is_back_before_its_answer_was_noted_was_through_with_it) {
  read(1, 0);
  const ReplySchedule::Due due = next();
  now += 300us;
  read(2, 0);
  schedule.answered(due, now);
  EXPECT_EQ(next_at(), 20ms);
  read(3, 0);
  EXPECT_EQ(next_at(), 30ms);
}

TEST_F(RepliesInOrder, data_that_are_later_than_the_device_are_waited_for) {
  read(1, 0);
  const ReplySchedule::Due due = *[&] {
    now = *schedule.next();
    return schedule.pop(now);
  }();
  now += 5ms;
  schedule.answering(due, 5ms);
  read(2, 0);
  EXPECT_EQ(next_at(), 25ms);
}

TEST_F(RepliesInOrder, another_reader_gets_back_nothing) {
  read(1, 1000, 1);
  const ReplySchedule::Due due = next();
  now += 300us;
  schedule.answered(due, now);
  read(2, 1000, 2);
  EXPECT_EQ(next_at(), 22ms + 300us);
}

TEST_F(RepliesInOrder, an_unknown_reader_gets_back_nothing) {
  read(1, 1000, 0);
  const ReplySchedule::Due due = next();
  now += 300us;
  schedule.answered(due, now);
  read(2, 1000, 0);
  EXPECT_EQ(next_at(), 22ms + 300us);
}

TEST_F(RepliesInOrder, one_late_answer_is_given_back_once) {
  read(1, 0);
  const ReplySchedule::Due due = next();
  now += 300us;
  schedule.answered(due, now);
  read(2, 0);
  read(3, 0);
  EXPECT_EQ(next_at(), 20ms);
  EXPECT_EQ(next_at(), 20ms + 300us);
}

TEST_F(RepliesInOrder, a_long_stop_is_not_made_good_but_told) {
  read(1, 1000);
  const ReplySchedule::Due due = next();
  now += 100ms;
  schedule.answered(due, now);
  EXPECT_EQ(meter.state().overruns, 1);
  EXPECT_NEAR(meter.state().overrun_s, 0.08, 1e-9);
  read(2, 1000);
  EXPECT_EQ(next().modelled - kBegin, 11ms + 80ms + 11ms);
}

TEST_F(RepliesInOrder, a_thousand_late_answers_take_as_long_as_on_time) {
  for (uintptr_t i = 0; i < 1000; ++i) {
    read(i + 1, 1000);
    const ReplySchedule::Due due = next();
    now += 70us;
    schedule.answered(due, now);
  }
  EXPECT_EQ(now - kBegin, 11s + 70us);
}

TEST_F(RepliesInOrder, requests_of_one_time_are_answered_in_their_order) {
  for (uintptr_t i = 1; i <= 5; ++i) read(i, 0);
  for (uintptr_t i = 1; i <= 5; ++i) EXPECT_EQ(next().request, request(i));
}

TEST_F(RepliesInOrder, readers_that_are_gone_do_not_stay) {
  for (uintptr_t i = 1; i <= 10'000; ++i) {
    read(i, 0, static_cast<pid_t>(i));
    const ReplySchedule::Due due = next();
    schedule.answered(due, now);
  }
  read(10'001, 0, 10'001);
  EXPECT_TRUE(schedule.next());
}

}  // namespace
}  // namespace stoker
