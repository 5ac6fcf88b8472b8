#pragma once

// The counters of Darshan's modules POSIX (version 4) and STDIO (version 2), in its order and by
// its names: a row each, of which profile.h makes the enumerations and counters/merge.cpp the sums.
// What a row says last is how two counts of one file become one (CounterMerge).

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define STOKER_POSIX_COUNTERS(ROW) \
  ROW(OPENS, sum)                  \
  ROW(FILENOS, sum)                \
  ROW(DUPS, sum)                   \
  ROW(READS, sum)                  \
  ROW(WRITES, sum)                 \
  ROW(SEEKS, sum)                  \
  ROW(STATS, sum)                  \
  ROW(MMAPS, sum)                  \
  ROW(FSYNCS, sum)                 \
  ROW(FDSYNCS, sum)                \
  ROW(RENAME_SOURCES, sum)         \
  ROW(RENAME_TARGETS, sum)         \
  ROW(RENAMED_FROM, first)         \
  ROW(MODE, last)                  \
  ROW(BYTES_READ, sum)             \
  ROW(BYTES_WRITTEN, sum)          \
  ROW(MAX_BYTE_READ, larger)       \
  ROW(MAX_BYTE_WRITTEN, larger)    \
  ROW(CONSEC_READS, sum)           \
  ROW(CONSEC_WRITES, sum)          \
  ROW(SEQ_READS, sum)              \
  ROW(SEQ_WRITES, sum)             \
  ROW(RW_SWITCHES, sum)            \
  ROW(MEM_NOT_ALIGNED, sum)        \
  ROW(MEM_ALIGNMENT, first)        \
  ROW(FILE_NOT_ALIGNED, sum)       \
  ROW(FILE_ALIGNMENT, first)       \
  ROW(MAX_READ_TIME_SIZE, other)   \
  ROW(MAX_WRITE_TIME_SIZE, other)  \
  ROW(SIZE_READ_0_100, sum)        \
  ROW(SIZE_READ_100_1K, sum)       \
  ROW(SIZE_READ_1K_10K, sum)       \
  ROW(SIZE_READ_10K_100K, sum)     \
  ROW(SIZE_READ_100K_1M, sum)      \
  ROW(SIZE_READ_1M_4M, sum)        \
  ROW(SIZE_READ_4M_10M, sum)       \
  ROW(SIZE_READ_10M_100M, sum)     \
  ROW(SIZE_READ_100M_1G, sum)      \
  ROW(SIZE_READ_1G_PLUS, sum)      \
  ROW(SIZE_WRITE_0_100, sum)       \
  ROW(SIZE_WRITE_100_1K, sum)      \
  ROW(SIZE_WRITE_1K_10K, sum)      \
  ROW(SIZE_WRITE_10K_100K, sum)    \
  ROW(SIZE_WRITE_100K_1M, sum)     \
  ROW(SIZE_WRITE_1M_4M, sum)       \
  ROW(SIZE_WRITE_4M_10M, sum)      \
  ROW(SIZE_WRITE_10M_100M, sum)    \
  ROW(SIZE_WRITE_100M_1G, sum)     \
  ROW(SIZE_WRITE_1G_PLUS, sum)     \
  ROW(STRIDE1_STRIDE, other)       \
  ROW(STRIDE2_STRIDE, other)       \
  ROW(STRIDE3_STRIDE, other)       \
  ROW(STRIDE4_STRIDE, other)       \
  ROW(STRIDE1_COUNT, other)        \
  ROW(STRIDE2_COUNT, other)        \
  ROW(STRIDE3_COUNT, other)        \
  ROW(STRIDE4_COUNT, other)        \
  ROW(ACCESS1_ACCESS, other)       \
  ROW(ACCESS2_ACCESS, other)       \
  ROW(ACCESS3_ACCESS, other)       \
  ROW(ACCESS4_ACCESS, other)       \
  ROW(ACCESS1_COUNT, other)        \
  ROW(ACCESS2_COUNT, other)        \
  ROW(ACCESS3_COUNT, other)        \
  ROW(ACCESS4_COUNT, other)        \
  ROW(FASTEST_RANK, other)         \
  ROW(FASTEST_RANK_BYTES, other)   \
  ROW(SLOWEST_RANK, other)         \
  ROW(SLOWEST_RANK_BYTES, other)

// With the end of the name that Darshan gives it behind "POSIX_F_".
#define STOKER_POSIX_TIMES(ROW)                      \
  ROW(OPEN_START, OPEN_START_TIMESTAMP, earliest)    \
  ROW(READ_START, READ_START_TIMESTAMP, earliest)    \
  ROW(WRITE_START, WRITE_START_TIMESTAMP, earliest)  \
  ROW(CLOSE_START, CLOSE_START_TIMESTAMP, earliest)  \
  ROW(OPEN_END, OPEN_END_TIMESTAMP, latest)          \
  ROW(READ_END, READ_END_TIMESTAMP, latest)          \
  ROW(WRITE_END, WRITE_END_TIMESTAMP, latest)        \
  ROW(CLOSE_END, CLOSE_END_TIMESTAMP, latest)        \
  ROW(READ_TIME, READ_TIME, sum)                     \
  ROW(WRITE_TIME, WRITE_TIME, sum)                   \
  ROW(META_TIME, META_TIME, sum)                     \
  ROW(MAX_READ_TIME, MAX_READ_TIME, other)           \
  ROW(MAX_WRITE_TIME, MAX_WRITE_TIME, other)         \
  ROW(FASTEST_RANK_TIME, FASTEST_RANK_TIME, other)   \
  ROW(SLOWEST_RANK_TIME, SLOWEST_RANK_TIME, other)   \
  ROW(VARIANCE_RANK_TIME, VARIANCE_RANK_TIME, other) \
  ROW(VARIANCE_RANK_BYTES, VARIANCE_RANK_BYTES, other)

#define STOKER_STDIO_COUNTERS(ROW) \
  ROW(OPENS, sum)                  \
  ROW(FDOPENS, sum)                \
  ROW(READS, sum)                  \
  ROW(WRITES, sum)                 \
  ROW(SEEKS, sum)                  \
  ROW(FLUSHES, sum)                \
  ROW(BYTES_WRITTEN, sum)          \
  ROW(BYTES_READ, sum)             \
  ROW(MAX_BYTE_READ, larger)       \
  ROW(MAX_BYTE_WRITTEN, larger)    \
  ROW(FASTEST_RANK, other)         \
  ROW(FASTEST_RANK_BYTES, other)   \
  ROW(SLOWEST_RANK, other)         \
  ROW(SLOWEST_RANK_BYTES, other)

#define STOKER_STDIO_TIMES(ROW)                      \
  ROW(META_TIME, META_TIME, sum)                     \
  ROW(WRITE_TIME, WRITE_TIME, sum)                   \
  ROW(READ_TIME, READ_TIME, sum)                     \
  ROW(OPEN_START, OPEN_START_TIMESTAMP, earliest)    \
  ROW(CLOSE_START, CLOSE_START_TIMESTAMP, earliest)  \
  ROW(WRITE_START, WRITE_START_TIMESTAMP, earliest)  \
  ROW(READ_START, READ_START_TIMESTAMP, earliest)    \
  ROW(OPEN_END, OPEN_END_TIMESTAMP, latest)          \
  ROW(CLOSE_END, CLOSE_END_TIMESTAMP, latest)        \
  ROW(WRITE_END, WRITE_END_TIMESTAMP, latest)        \
  ROW(READ_END, READ_END_TIMESTAMP, latest)          \
  ROW(FASTEST_RANK_TIME, FASTEST_RANK_TIME, other)   \
  ROW(SLOWEST_RANK_TIME, SLOWEST_RANK_TIME, other)   \
  ROW(VARIANCE_RANK_TIME, VARIANCE_RANK_TIME, other) \
  ROW(VARIANCE_RANK_BYTES, VARIANCE_RANK_BYTES, other)
// NOLINTEND(cppcoreguidelines-macro-usage)
