#include "io/metrics/tally.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "io/metrics/thread_slots.h"

namespace stoker {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(Tally, sums_are_exact) {
  Tally tally;
  for (int i = 0; i < 1000; ++i) tally.add(nanoseconds(1234567), 10);
  const Tally::Totals totals = tally.totals();
  EXPECT_EQ(totals.count, 1000);
  EXPECT_EQ(totals.ns, 1234567000);
  EXPECT_EQ(totals.bytes, 10000);
  EXPECT_DOUBLE_EQ(totals.seconds(), 1.234567);
}

TEST(Tally, a_bound_belongs_to_the_bucket_below_it) {
  for (size_t i = 0; i < kDurationBounds.size(); ++i) {
    const nanoseconds bound(static_cast<int64_t>(1e9 * kDurationBounds[i] + 0.5));
    Tally tally;
    tally.add(bound);
    tally.add(bound + nanoseconds(1));
    EXPECT_EQ(tally.totals().buckets[i], 1) << kDurationBounds[i];
    EXPECT_EQ(tally.totals().buckets[i + 1], 1) << kDurationBounds[i];
  }
}

TEST(Tally, the_last_bucket_has_no_bound) {
  Tally tally;
  for (int i = 0; i < 5; ++i) tally.add(std::chrono::hours(24));
  EXPECT_EQ(tally.totals().buckets.back(), 5);
  EXPECT_DOUBLE_EQ(*tally.totals().quantile(0.5), 86400);
}

TEST(Tally, a_quantile_is_one_of_the_values_but_for_nine_per_cent) {
  Tally tally;
  for (int i = 0; i < 1000; ++i) tally.add(microseconds(12'400) + microseconds(i % 10));
  EXPECT_NEAR(*tally.totals().quantile(0.5), 12.4e-3, 1e-5);
  EXPECT_NEAR(*tally.totals().quantile(0.99), 12.409e-3, 1e-5);
  Tally wide;
  for (int i = 1; i <= 1000; ++i) wide.add(milliseconds(i));
  for (const double q : {0.1, 0.25, 0.5, 0.9, 0.99}) {
    EXPECT_NEAR(*wide.totals().quantile(q), q, 0.09 * q) << q;
  }
}

TEST(Tally, few_values_have_no_quantile) {
  Tally tally;
  for (int i = 0; i < 4; ++i) tally.add(milliseconds(2));
  EXPECT_EQ(tally.totals().quantile(0.5), std::nullopt);
  for (int i = 0; i < 95; ++i) tally.add(milliseconds(2));
  EXPECT_EQ(tally.totals().quantile(0.99), std::nullopt);
  tally.add(milliseconds(2));
  EXPECT_DOUBLE_EQ(*tally.totals().quantile(0.99), 0.002);
  EXPECT_EQ(Tally::Totals{}.quantile(0.5), std::nullopt);
}

TEST(Tally, totals_add_up) {
  Tally a, b;
  a.add(milliseconds(2), 3);
  b.add(milliseconds(2), 4);
  b.add(milliseconds(20), 5);
  Tally::Totals sum = a.totals();
  sum += b.totals();
  EXPECT_EQ(sum.count, 3);
  EXPECT_EQ(sum.bytes, 12);
  EXPECT_EQ(sum.ns, 24'000'000);
  EXPECT_EQ(sum.least_ns, 2'000'000);
  EXPECT_EQ(sum.most_ns, 20'000'000);
}

int64_t count_of(const ThreadSlots<Tally>& slots, int* used = nullptr) {
  int64_t count = 0;
  slots.each([&](const Tally& tally) {
    count += tally.totals().count;
    if (used != nullptr) ++*used;
  });
  return count;
}

TEST(ThreadSlots, what_a_thread_wrote_stays_and_its_successor_goes_on) {
  ThreadSlots<Tally> slots;
  for (int i = 0; i < 100; ++i) std::jthread([&] { slots.here().add(milliseconds(1)); }).join();
  int used = 0;
  EXPECT_EQ(count_of(slots, &used), 100);
  EXPECT_EQ(used, 1);
}

TEST(ThreadSlots, living_threads_have_numbers_of_their_own) {
  constexpr size_t kThreads = 16;
  std::vector<size_t> numbers(kThreads);
  std::latch all(kThreads);
  {
    std::vector<std::jthread> threads;
    for (size_t& number : numbers) {
      threads.emplace_back([&] {
        number = thread_number();
        all.arrive_and_wait();
        EXPECT_EQ(thread_number(), number);
      });
    }
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
  EXPECT_LT(numbers.back(), kMaxThreads);
}

TEST(ThreadSlots, may_be_read_while_threads_write) {
  constexpr int64_t kThreads = 8, kTimes = 10000;
  ThreadSlots<Tally> slots;
  {
    std::vector<std::jthread> threads;
    for (int64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int64_t n = 0; n < kTimes; ++n) slots.here().add(microseconds(n), 1);
      });
    }
    for (int64_t seen = 0; seen < kThreads * kTimes / 2;) {
      const int64_t count = count_of(slots);
      EXPECT_GE(count, seen);
      seen = count;
    }
  }
  EXPECT_EQ(count_of(slots), kThreads * kTimes);
}

}  // namespace
}  // namespace stoker
