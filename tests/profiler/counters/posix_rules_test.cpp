#include <gmock/gmock.h>

#include <array>

#include "io/profiler/counters/rules.h"

namespace stoker {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using P = PosixCounters;

// A file, and calls on it that last 1 s each, one after the other; the first begins at 10 s.
class PosixRules : public ::testing::Test {
 protected:
  PosixRules() {
    file.counters.counters[P::MEM_ALIGNMENT] = 8;
    file.counters.counters[P::FILE_ALIGNMENT] = 4096;
  }
  CallSpan next() {
    now += 1;
    return {now - 1, now};
  }
  void open() { count_open(file, 0, next()); }
  void close() { count_close(file, next()); }
  void read(int64_t bytes, int64_t offset = -1) {
    count_read(file, {bytes, offset}, next(), arena);
  }
  void write(int64_t bytes, int64_t offset = -1) {
    count_write(file, {bytes, offset}, next(), arena);
  }
  int64_t count(size_t counter) const { return file.counters.counters[counter]; }
  double time(P::Time which) const { return file.counters.times[which]; }
  std::array<int64_t, 8> common(const CommonValues& values) const {
    std::array<int64_t, 8> counters;
    values.write(counters);
    return counters;
  }
  Arena arena{1 << 20};
  PosixRecord file;
  double now = 10;
};

TEST_F(PosixRules, a_call_counts_once_and_with_its_bytes) {
  open();
  read(100);
  read(50);
  write(7);
  EXPECT_EQ(count(P::OPENS), 1);
  EXPECT_EQ(count(P::READS), 2);
  EXPECT_EQ(count(P::BYTES_READ), 150);
  EXPECT_EQ(count(P::WRITES), 1);
  EXPECT_EQ(count(P::BYTES_WRITTEN), 7);
}

TEST_F(PosixRules, a_bucket_has_its_upper_edge) {
  const std::array<int64_t, 9> edges{100,     1024,     10240,     102400,    1048576,
                                     4194304, 10485760, 104857600, 1073741824};
  for (const int64_t edge : edges) {
    read(edge, 0);
    read(edge + 1, 0);
    write(edge, 0);
  }
  read(0, 0);
  // Each edge, and one more than the edge before.
  EXPECT_EQ(count(P::SIZE_READ_0_100), 2);
  for (size_t i = 1; i < edges.size(); ++i) EXPECT_EQ(count(P::SIZE_READ_0_100 + i), 2) << i;
  EXPECT_EQ(count(P::SIZE_READ_0_100 + 9), 1);
  for (size_t i = 0; i < edges.size(); ++i) EXPECT_EQ(count(P::SIZE_WRITE_0_100 + i), 1) << i;
}

TEST_F(PosixRules, the_first_read_at_0_is_neither_sequential_nor_consecutive) {
  open();
  read(100);
  EXPECT_EQ(count(P::SEQ_READS), 0);
  EXPECT_EQ(count(P::CONSEC_READS), 0);
}

TEST_F(PosixRules, a_read_of_nothing_behind_the_last_byte_is_both) {
  open();
  read(100);
  read(0);
  EXPECT_EQ(count(P::SEQ_READS), 1);
  EXPECT_EQ(count(P::CONSEC_READS), 1);
  EXPECT_EQ(count(P::SIZE_READ_0_100), 2);
}

TEST_F(PosixRules, behind_the_last_byte_is_sequential_and_right_behind_it_consecutive) {
  open();
  read(10, 0);    // bytes 0 to 9
  read(10, 10);   // both
  read(10, 100);  // sequential
  read(10, 109);  // the last byte of the one before: neither
  read(10, 50);   // back: neither
  EXPECT_EQ(count(P::SEQ_READS), 2);
  EXPECT_EQ(count(P::CONSEC_READS), 1);
}

TEST_F(PosixRules, writes_are_compared_with_writes) {
  open();
  read(10, 0);
  write(10, 10);  // the last byte written is still 0: sequential
  write(10, 20);  // both
  EXPECT_EQ(count(P::SEQ_WRITES), 2);
  EXPECT_EQ(count(P::CONSEC_WRITES), 1);
  EXPECT_EQ(count(P::SEQ_READS), 0);
}

TEST_F(PosixRules, a_call_without_offset_is_where_the_last_one_of_the_file_ended) {
  open();
  read(10, 500);
  read(10);
  write(10);
  EXPECT_EQ(count(P::MAX_BYTE_READ), 519);
  EXPECT_EQ(count(P::MAX_BYTE_WRITTEN), 529);
  count_seek(file, 1000, next());
  read(1);
  EXPECT_EQ(count(P::SEEKS), 1);
  EXPECT_EQ(count(P::MAX_BYTE_READ), 1000);
}

TEST_F(PosixRules, an_open_puts_the_files_offset_and_last_bytes_at_0) {
  open();
  read(100);
  open();  // another descriptor of the same file
  read(10);
  EXPECT_EQ(count(P::MAX_BYTE_READ), 99);
  EXPECT_EQ(count(P::CONSEC_READS), 0);
  EXPECT_EQ(count(P::SEQ_READS), 0);
}

TEST_F(PosixRules, a_close_puts_the_last_bytes_at_0_but_not_the_offset) {
  open();
  read(100);
  close();
  read(10);  // at 100, with the last byte 0
  EXPECT_EQ(count(P::SEQ_READS), 1);
  EXPECT_EQ(count(P::CONSEC_READS), 0);
  EXPECT_EQ(count(P::MAX_BYTE_READ), 109);
}

TEST_F(PosixRules, a_new_descriptor_of_an_open_file_changes_neither) {
  open();
  read(100);
  count_duplicate(file, next());
  count_fileno(file, next());
  read(10);
  EXPECT_EQ(count(P::CONSEC_READS), 1);
  EXPECT_EQ(count(P::OPENS), 3);
  EXPECT_EQ(count(P::DUPS), 1);
  EXPECT_EQ(count(P::FILENOS), 1);
}

TEST_F(PosixRules, a_stride_is_the_gap_behind_the_last_byte_of_the_same_kind) {
  open();
  read(10, 0);    // no stride: the first at 0
  read(10, 30);   // 20
  read(10, 60);   // 20
  read(10, 70);   // right behind: 0, which is not shown
  read(10, 5);    // back: 0
  write(10, 90);  // the last byte written is 0, so there is none
  write(5, 107);  // 7
  EXPECT_THAT(common(file.strides), ElementsAre(20, 7, 0, 0, 2, 1, 0, 0));
}

TEST_F(PosixRules, a_stride_needs_a_last_byte_that_is_not_0) {
  open();
  read(1, 0);   // byte 0
  read(1, 10);  // the last byte is 0, as that of a file never read
  EXPECT_THAT(common(file.strides), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(count(P::SEQ_READS), 1);
}

TEST_F(PosixRules, sizes_of_reads_and_writes_are_counted_together) {
  open();
  read(512);
  read(512);
  write(512);
  read(0);
  write(64);
  EXPECT_THAT(common(file.sizes), ElementsAre(512, 64, 0, 0, 3, 1, 0, 0));
}

TEST_F(PosixRules, a_switch_is_a_read_after_a_write_or_the_other_way) {
  open();
  read(1);
  read(1);
  EXPECT_EQ(count(P::RW_SWITCHES), 0);
  write(1);
  read(1);
  count_seek(file, 0, next());
  read(1);
  EXPECT_EQ(count(P::RW_SWITCHES), 2);
}

TEST_F(PosixRules, alignment_is_that_of_the_memory_and_of_the_offset) {
  open();
  read(10, 0);
  read(10, 4096);
  read(10, 100);
  count_write(file, {.bytes = 10, .offset = 8192, .memory_aligned = false}, next(), arena);
  EXPECT_EQ(count(P::FILE_NOT_ALIGNED), 1);
  EXPECT_EQ(count(P::MEM_NOT_ALIGNED), 1);
}

TEST_F(PosixRules, any_unit_of_alignment_will_do_and_none_counts_nothing) {
  file.counters.counters[P::FILE_ALIGNMENT] = 3000;
  read(1, 6000);
  read(1, 4096);
  EXPECT_EQ(count(P::FILE_NOT_ALIGNED), 1);
  file.counters.counters[P::FILE_ALIGNMENT] = -1;
  read(1, 4096);
  EXPECT_EQ(count(P::FILE_NOT_ALIGNED), 1);
}

TEST_F(PosixRules, stamps_are_the_first_begin_and_the_last_end) {
  open();   // 10 to 11
  read(1);  // to 12
  write(1);
  read(1);  // 13 to 14
  close();
  open();   // 15 to 16
  close();  // to 17
  EXPECT_EQ(time(P::OPEN_START), 10);
  EXPECT_EQ(time(P::OPEN_END), 16);
  EXPECT_EQ(time(P::READ_START), 11);
  EXPECT_EQ(time(P::READ_END), 14);
  EXPECT_EQ(time(P::WRITE_START), 12);
  EXPECT_EQ(time(P::WRITE_END), 13);
  EXPECT_EQ(time(P::CLOSE_START), 14);
  EXPECT_EQ(time(P::CLOSE_END), 17);
}

TEST_F(PosixRules, a_begin_that_is_told_late_is_still_the_first) {
  count_read(file, {1, 0}, {5, 6}, arena);
  count_read(file, {1, 0}, {4, 7}, arena);
  EXPECT_EQ(time(P::READ_START), 4);
  EXPECT_EQ(time(P::READ_END), 7);
}

TEST_F(PosixRules, time_of_reads_at_once_counts_once) {
  count_read(file, {1, 0}, {10, 14}, arena);
  count_read(file, {1, 0}, {12, 15}, arena);  // 1 s more
  count_read(file, {1, 0}, {11, 13}, arena);  // none
  count_read(file, {1, 0}, {20, 21}, arena);
  EXPECT_THAT(time(P::READ_TIME), DoubleEq(6));
}

TEST_F(PosixRules, kinds_of_time_do_not_cover_each_other) {
  count_read(file, {1, 0}, {10, 14}, arena);
  count_write(file, {1, 0}, {10, 14}, arena);
  count_seek(file, 0, {10, 14});
  EXPECT_THAT(time(P::READ_TIME), DoubleEq(4));
  EXPECT_THAT(time(P::WRITE_TIME), DoubleEq(4));
  EXPECT_THAT(time(P::META_TIME), DoubleEq(4));
}

TEST_F(PosixRules, meta_time_is_that_of_opens_closes_seeks_stats_and_renames) {
  open();
  count_stat(file, next());
  count_seek(file, 3, next());
  count_rename_source(file, next());
  close();
  EXPECT_THAT(time(P::META_TIME), DoubleEq(5));
  EXPECT_EQ(count(P::STATS), 1);
}

TEST_F(PosixRules, a_sync_is_time_of_writing_without_a_stamp) {
  count_sync(file, false, next());
  count_sync(file, true, next());
  EXPECT_EQ(count(P::FSYNCS), 1);
  EXPECT_EQ(count(P::FDSYNCS), 1);
  EXPECT_THAT(time(P::WRITE_TIME), DoubleEq(2));
  EXPECT_EQ(time(P::WRITE_START), 0);
}

TEST_F(PosixRules, the_slowest_call_has_its_size_and_the_first_of_equals_stays) {
  count_read(file, {100, 0}, {1, 3}, arena);
  count_read(file, {200, 0}, {4, 6}, arena);
  count_read(file, {300, 0}, {7, 8}, arena);
  count_write(file, {50, 0}, {9, 19}, arena);
  EXPECT_EQ(count(P::MAX_READ_TIME_SIZE), 100);
  EXPECT_EQ(time(P::MAX_READ_TIME), 2);
  EXPECT_EQ(count(P::MAX_WRITE_TIME_SIZE), 50);
  EXPECT_EQ(time(P::MAX_WRITE_TIME), 10);
}

TEST_F(PosixRules, the_mode_is_that_of_the_last_open_that_has_one) {
  count_open(file, 0644, next());
  count_open(file, 0, next());
  EXPECT_EQ(count(P::MODE), 0644);
  count_open(file, 0600, next());
  EXPECT_EQ(count(P::MODE), 0600);
}

TEST_F(PosixRules, the_first_source_of_a_rename_stays) {
  count_rename_target(file, 17);
  count_rename_target(file, 18);
  EXPECT_EQ(count(P::RENAME_TARGETS), 2);
  EXPECT_EQ(count(P::RENAMED_FROM), 17);
}

TEST_F(PosixRules, a_mapping_takes_no_time) {
  count_map(file);
  EXPECT_EQ(count(P::MMAPS), 1);
  EXPECT_EQ(time(P::META_TIME), 0);
}

// The study's read mode: one read of the whole file, and one of nothing.
TEST_F(PosixRules, half_of_the_reads_of_small_files_are_neither) {
  open();
  read(88'000, 0);
  read(0, 88'000);
  close();
  EXPECT_EQ(count(P::READS), 2);
  EXPECT_EQ(count(P::SEQ_READS), 1);
  EXPECT_EQ(count(P::CONSEC_READS), 1);
  EXPECT_EQ(count(P::SIZE_READ_0_100), 1);
  EXPECT_EQ(count(P::SIZE_READ_0_100 + 3), 1);
  EXPECT_EQ(count(P::MAX_BYTE_READ), 87'999);
  EXPECT_THAT(common(file.strides), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace stoker
