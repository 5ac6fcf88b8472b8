#include <gmock/gmock.h>

#include "io/profiler/counters/rules.h"

namespace stoker {
namespace {

using ::testing::DoubleEq;
using S = StdioCounters;

// As PosixRules, of streams.
class StdioRules : public ::testing::Test {
 protected:
  CallSpan next() {
    now += 1;
    return {now - 1, now};
  }
  int64_t count(S::Counter counter) const { return file.counters.counters[counter]; }
  double time(S::Time which) const { return file.counters.times[which]; }
  StdioRecord file;
  double now = 10;
};

TEST_F(StdioRules, a_call_counts_once_and_with_its_bytes) {
  count_open(file, next());
  count_write(file, 100, next());
  count_write(file, 11, next());
  count_seek(file, 0, next());
  count_read(file, 7, next());
  EXPECT_EQ(count(S::OPENS), 1);
  EXPECT_EQ(count(S::WRITES), 2);
  EXPECT_EQ(count(S::BYTES_WRITTEN), 111);
  EXPECT_EQ(count(S::SEEKS), 1);
  EXPECT_EQ(count(S::READS), 1);
  EXPECT_EQ(count(S::BYTES_READ), 7);
  EXPECT_EQ(count(S::MAX_BYTE_WRITTEN), 110);
  EXPECT_EQ(count(S::MAX_BYTE_READ), 6);
}

TEST_F(StdioRules, reads_and_writes_move_one_offset_which_is_the_files) {
  count_open(file, next());
  count_read(file, 100, next());
  count_write(file, 10, next());
  EXPECT_EQ(count(S::MAX_BYTE_WRITTEN), 109);
  count_open(file, next());
  count_read(file, 5, next());
  EXPECT_EQ(count(S::MAX_BYTE_READ), 99);
}

TEST_F(StdioRules, fdopen_is_an_open_where_the_file_is) {
  count_open(file, next());
  count_write(file, 100, next());
  count_fdopen(file, next());
  count_write(file, 10, next());
  EXPECT_EQ(count(S::OPENS), 2);
  EXPECT_EQ(count(S::FDOPENS), 1);
  EXPECT_EQ(count(S::MAX_BYTE_WRITTEN), 109);
}

TEST_F(StdioRules, a_flush_writes_nothing_but_is_time_and_a_stamp_of_writing) {
  count_open(file, next());
  count_flush(file, next());
  EXPECT_EQ(count(S::FLUSHES), 1);
  EXPECT_EQ(count(S::WRITES), 0);
  EXPECT_EQ(time(S::WRITE_START), 11);
  EXPECT_EQ(time(S::WRITE_END), 12);
  EXPECT_THAT(time(S::WRITE_TIME), DoubleEq(1));
  EXPECT_EQ(count(S::MAX_BYTE_WRITTEN), 0);
}

TEST_F(StdioRules, a_flush_behind_a_seek_raises_the_last_byte_as_in_darshan) {
  count_open(file, next());
  count_seek(file, 1000, next());
  count_flush(file, next());
  EXPECT_EQ(count(S::MAX_BYTE_WRITTEN), 999);
}

TEST_F(StdioRules, stamps_and_times_are_kept_by_kind) {
  count_open(file, next());      // 10 to 11
  count_read(file, 1, next());   // to 12
  count_write(file, 1, next());  // to 13
  count_seek(file, 0, next());   // to 14
  count_close(file, next());     // to 15
  EXPECT_EQ(time(S::OPEN_START), 10);
  EXPECT_EQ(time(S::OPEN_END), 11);
  EXPECT_EQ(time(S::READ_START), 11);
  EXPECT_EQ(time(S::READ_END), 12);
  EXPECT_EQ(time(S::WRITE_START), 12);
  EXPECT_EQ(time(S::WRITE_END), 13);
  EXPECT_EQ(time(S::CLOSE_START), 14);
  EXPECT_EQ(time(S::CLOSE_END), 15);
  EXPECT_THAT(time(S::META_TIME), DoubleEq(3));
  EXPECT_THAT(time(S::READ_TIME), DoubleEq(1));
  EXPECT_THAT(time(S::WRITE_TIME), DoubleEq(1));
}

// The standard streams are opened when Darshan starts.
TEST_F(StdioRules, an_open_at_no_time_counts_without_one) {
  count_open(file, CallSpan{});
  EXPECT_EQ(count(S::OPENS), 1);
  EXPECT_EQ(time(S::OPEN_START), 0);
  EXPECT_EQ(time(S::META_TIME), 0);
}

}  // namespace
}  // namespace stoker
