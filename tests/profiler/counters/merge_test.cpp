#include "io/profiler/counters/merge.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace stoker {
namespace {

using P = PosixCounters;
using S = StdioCounters;

TEST(Merge, numbers_of_calls_and_bytes_are_summed) {
  PosixCounters into, later;
  for (const size_t counter :
       {size_t{P::OPENS}, size_t{P::RENAME_TARGETS}, size_t{P::BYTES_READ}, size_t{P::CONSEC_READS},
        size_t{P::MEM_NOT_ALIGNED}, size_t{P::FILE_NOT_ALIGNED}, size_t{P::SIZE_READ_0_100},
        size_t{P::SIZE_WRITE_0_100 + 9}}) {
    into.counters[counter] = 2;
    later.counters[counter] = 3;
    merge(into, later);
    EXPECT_EQ(into.counters[counter], 5) << counter;
  }
}

TEST(Merge, last_bytes_are_maxima_and_facts_of_the_file_stay) {
  PosixCounters into, later;
  into.counters[P::MAX_BYTE_READ] = 10;
  later.counters[P::MAX_BYTE_READ] = 7;
  later.counters[P::MAX_BYTE_WRITTEN] = 8;
  into.counters[P::FILE_ALIGNMENT] = later.counters[P::FILE_ALIGNMENT] = 4096;
  later.counters[P::MEM_ALIGNMENT] = 8;
  into.counters[P::RENAMED_FROM] = 1;
  later.counters[P::RENAMED_FROM] = 2;
  into.counters[P::MODE] = 0644;
  later.counters[P::MODE] = 0600;
  merge(into, later);
  EXPECT_EQ(into.counters[P::MAX_BYTE_READ], 10);
  EXPECT_EQ(into.counters[P::MAX_BYTE_WRITTEN], 8);
  EXPECT_EQ(into.counters[P::FILE_ALIGNMENT], 4096);
  EXPECT_EQ(into.counters[P::MEM_ALIGNMENT], 8);
  EXPECT_EQ(into.counters[P::RENAMED_FROM], 1);
  EXPECT_EQ(into.counters[P::MODE], 0600);
  merge(into, PosixCounters{});
  EXPECT_EQ(into.counters[P::MODE], 0600);
}

TEST(Merge, mappings_that_nobody_looked_at_stay_unknown) {
  PosixCounters into, later;
  into.counters[P::MMAPS] = later.counters[P::MMAPS] = -1;
  merge(into, later);
  EXPECT_EQ(into.counters[P::MMAPS], -1);
}

TEST(Merge, the_slowest_call_has_its_size_and_the_earlier_of_equals_stays) {
  PosixCounters into, later;
  into.times[P::MAX_READ_TIME] = later.times[P::MAX_READ_TIME] = 2;
  into.counters[P::MAX_READ_TIME_SIZE] = 10;
  later.counters[P::MAX_READ_TIME_SIZE] = 20;
  later.times[P::MAX_WRITE_TIME] = 1;
  later.counters[P::MAX_WRITE_TIME_SIZE] = 30;
  merge(into, later);
  EXPECT_EQ(into.counters[P::MAX_READ_TIME_SIZE], 10);
  EXPECT_EQ(into.counters[P::MAX_WRITE_TIME_SIZE], 30);
}

TEST(Merge, stamps_are_the_first_begin_and_the_last_end_and_0_is_never) {
  PosixCounters into, later;
  into.times[P::OPEN_START] = 3;
  into.times[P::OPEN_END] = 4;
  later.times[P::OPEN_START] = 1;
  later.times[P::OPEN_END] = 2;
  later.times[P::CLOSE_START] = 5;
  later.times[P::CLOSE_END] = 6;
  into.times[P::READ_TIME] = 1;
  later.times[P::READ_TIME] = 0.5;
  merge(into, later);
  EXPECT_EQ(into.times[P::OPEN_START], 1);
  EXPECT_EQ(into.times[P::OPEN_END], 4);
  EXPECT_EQ(into.times[P::CLOSE_START], 5);
  EXPECT_EQ(into.times[P::CLOSE_END], 6);
  EXPECT_EQ(into.times[P::READ_TIME], 1.5);
  merge(into, PosixCounters{});
  EXPECT_EQ(into.times[P::OPEN_START], 1);
}

TEST(Merge, common_values_of_both_become_the_commonest_four) {
  PosixCounters into, later;
  const auto set = [](PosixCounters& of, size_t place, int64_t value, int64_t count) {
    of.counters[P::ACCESS1_ACCESS + place] = value;
    of.counters[P::ACCESS1_COUNT + place] = count;
  };
  set(into, 0, 100, 5);
  set(into, 1, 200, 2);
  set(later, 0, 300, 6);
  set(later, 1, 200, 3);
  set(later, 2, 50, 1);
  set(later, 3, 40, 1);
  merge(into, later);
  const int64_t values[] = {300, 200, 100, 50}, counts[] = {6, 5, 5, 1};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(into.counters[P::ACCESS1_ACCESS + i], values[i]) << i;
    EXPECT_EQ(into.counters[P::ACCESS1_COUNT + i], counts[i]) << i;
  }
}

TEST(Merge, streams_follow_the_same_rules) {
  StdioCounters into, later;
  into.counters[S::READS] = 1;
  later.counters[S::READS] = 2;
  into.counters[S::MAX_BYTE_WRITTEN] = 5;
  later.counters[S::MAX_BYTE_WRITTEN] = 4;
  later.times[S::READ_START] = 7;
  later.times[S::READ_END] = 8;
  into.times[S::WRITE_TIME] = later.times[S::WRITE_TIME] = 1;
  merge(into, later);
  EXPECT_EQ(into.counters[S::READS], 3);
  EXPECT_EQ(into.counters[S::MAX_BYTE_WRITTEN], 5);
  EXPECT_EQ(into.times[S::READ_START], 7);
  EXPECT_EQ(into.times[S::READ_END], 8);
  EXPECT_EQ(into.times[S::WRITE_TIME], 2);
}

TEST(Merge, sums_that_are_too_large_stay_at_the_largest_number) {
  PosixCounters into, later;
  into.counters[P::BYTES_READ] = std::numeric_limits<int64_t>::max();
  later.counters[P::BYTES_READ] = 1;
  merge(into, later);
  EXPECT_EQ(into.counters[P::BYTES_READ], std::numeric_limits<int64_t>::max());
}

TEST(ShiftTimes, moves_stamps_and_leaves_durations_and_never) {
  PosixCounters posix;
  posix.times[P::OPEN_START] = 12;
  posix.times[P::READ_TIME] = 12;
  shift_times(posix, 10);
  EXPECT_EQ(posix.times[P::OPEN_START], 2);
  EXPECT_EQ(posix.times[P::CLOSE_START], 0);
  EXPECT_EQ(posix.times[P::READ_TIME], 12);
  StdioCounters stdio;
  stdio.times[S::META_TIME] = 12;
  stdio.times[S::READ_END] = 12;
  shift_times(stdio, 10);
  EXPECT_EQ(stdio.times[S::META_TIME], 12);
  EXPECT_EQ(stdio.times[S::READ_END], 2);
}

TEST(ShiftTimes, what_was_before_the_begin_is_at_it_and_not_never) {
  PosixCounters posix;
  posix.times[P::READ_START] = 9;
  shift_times(posix, 10);
  EXPECT_GT(posix.times[P::READ_START], 0);
  EXPECT_LT(posix.times[P::READ_START], 1e-6);
}

}  // namespace
}  // namespace stoker
