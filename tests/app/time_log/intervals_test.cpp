#include <gtest/gtest.h>

#include <array>
#include <random>

#include "app/time_log/time_log.h"

namespace stoker {
namespace {

constexpr int64_t kLength = 60;
using Cells = std::array<bool, kLength>;  // one for each unit of time

Cells cells(const TimeSpans& spans) {
  Cells result{};
  for (const TimeSpan& span : spans) {
    for (int64_t i = span.begin; i < span.end; ++i) result[static_cast<size_t>(i)] = true;
  }
  return result;
}

// What the cells say, as the united set that it must be.
TimeSpans spans_of(const Cells& cells) {
  TimeSpans result;
  for (int64_t i = 0; i < kLength; ++i) {
    if (!cells[static_cast<size_t>(i)]) continue;
    if (!result.empty() && result.back().end == i) {
      ++result.back().end;
    } else {
      result.push_back({i, i + 1});
    }
  }
  return result;
}

TimeSpans drawn(std::mt19937_64& random) {
  TimeSpans spans(random() % 8);
  for (TimeSpan& span : spans) {
    const auto begin = static_cast<int64_t>(random() % kLength);
    span = {begin, std::min<int64_t>(kLength, begin + static_cast<int64_t>(random() % 12) - 2)};
  }
  return spans;
}

TEST(Intervals, agree_with_counting_every_unit_of_time) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 5000; ++round) {
    const TimeSpans a = drawn(random), b = drawn(random);
    const TimeSpans ua = unite(a), ub = unite(b);
    ASSERT_EQ(ua, spans_of(cells(a)));
    Cells both = cells(a), rest = cells(a);
    const Cells other = cells(b);
    for (size_t i = 0; i < both.size(); ++i) {
      both[i] = both[i] && other[i];
      rest[i] = rest[i] && !other[i];
    }
    ASSERT_EQ(intersect(ua, ub), spans_of(both));
    ASSERT_EQ(subtract(ua, ub), spans_of(rest));
    ASSERT_EQ(total(intersect(ua, ub)) + total(subtract(ua, ub)), total(ua));
  }
}

TEST(Intervals, touching_ones_are_one_and_backward_ones_are_nothing) {
  EXPECT_EQ(unite({{5, 7}, {1, 5}, {9, 8}, {7, 7}}), (TimeSpans{{1, 7}}));
  EXPECT_EQ(total(unite({})), 0);
  EXPECT_EQ(intersect({{1, 5}}, {{5, 9}}), TimeSpans{});
  EXPECT_EQ(subtract({{1, 9}}, {{3, 4}, {6, 20}}), (TimeSpans{{1, 3}, {4, 6}}));
}

}  // namespace
}  // namespace stoker
