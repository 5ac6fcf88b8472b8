#pragma once

// The counters of Darshan's modules POSIX (version 4) and STDIO (version 2), in its order and by
// its names: a row each. profile.h makes the enumerations of it.

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define STOKER_POSIX_COUNTERS(ROW) \
  ROW(OPENS)                       \
  ROW(FILENOS)                     \
  ROW(DUPS)                        \
  ROW(READS)                       \
  ROW(WRITES)                      \
  ROW(SEEKS)                       \
  ROW(STATS)                       \
  ROW(MMAPS)                       \
  ROW(FSYNCS)                      \
  ROW(FDSYNCS)                     \
  ROW(RENAME_SOURCES)              \
  ROW(RENAME_TARGETS)              \
  ROW(RENAMED_FROM)                \
  ROW(MODE)                        \
  ROW(BYTES_READ)                  \
  ROW(BYTES_WRITTEN)               \
  ROW(MAX_BYTE_READ)               \
  ROW(MAX_BYTE_WRITTEN)            \
  ROW(CONSEC_READS)                \
  ROW(CONSEC_WRITES)               \
  ROW(SEQ_READS)                   \
  ROW(SEQ_WRITES)                  \
  ROW(RW_SWITCHES)                 \
  ROW(MEM_NOT_ALIGNED)             \
  ROW(MEM_ALIGNMENT)               \
  ROW(FILE_NOT_ALIGNED)            \
  ROW(FILE_ALIGNMENT)              \
  ROW(MAX_READ_TIME_SIZE)          \
  ROW(MAX_WRITE_TIME_SIZE)         \
  ROW(SIZE_READ_0_100)             \
  ROW(SIZE_READ_100_1K)            \
  ROW(SIZE_READ_1K_10K)            \
  ROW(SIZE_READ_10K_100K)          \
  ROW(SIZE_READ_100K_1M)           \
  ROW(SIZE_READ_1M_4M)             \
  ROW(SIZE_READ_4M_10M)            \
  ROW(SIZE_READ_10M_100M)          \
  ROW(SIZE_READ_100M_1G)           \
  ROW(SIZE_READ_1G_PLUS)           \
  ROW(SIZE_WRITE_0_100)            \
  ROW(SIZE_WRITE_100_1K)           \
  ROW(SIZE_WRITE_1K_10K)           \
  ROW(SIZE_WRITE_10K_100K)         \
  ROW(SIZE_WRITE_100K_1M)          \
  ROW(SIZE_WRITE_1M_4M)            \
  ROW(SIZE_WRITE_4M_10M)           \
  ROW(SIZE_WRITE_10M_100M)         \
  ROW(SIZE_WRITE_100M_1G)          \
  ROW(SIZE_WRITE_1G_PLUS)          \
  ROW(STRIDE1_STRIDE)              \
  ROW(STRIDE2_STRIDE)              \
  ROW(STRIDE3_STRIDE)              \
  ROW(STRIDE4_STRIDE)              \
  ROW(STRIDE1_COUNT)               \
  ROW(STRIDE2_COUNT)               \
  ROW(STRIDE3_COUNT)               \
  ROW(STRIDE4_COUNT)               \
  ROW(ACCESS1_ACCESS)              \
  ROW(ACCESS2_ACCESS)              \
  ROW(ACCESS3_ACCESS)              \
  ROW(ACCESS4_ACCESS)              \
  ROW(ACCESS1_COUNT)               \
  ROW(ACCESS2_COUNT)               \
  ROW(ACCESS3_COUNT)               \
  ROW(ACCESS4_COUNT)               \
  ROW(FASTEST_RANK)                \
  ROW(FASTEST_RANK_BYTES)          \
  ROW(SLOWEST_RANK)                \
  ROW(SLOWEST_RANK_BYTES)

// With the end of the name that Darshan gives it behind "POSIX_F_".
#define STOKER_POSIX_TIMES(ROW)               \
  ROW(OPEN_START, OPEN_START_TIMESTAMP)       \
  ROW(READ_START, READ_START_TIMESTAMP)       \
  ROW(WRITE_START, WRITE_START_TIMESTAMP)     \
  ROW(CLOSE_START, CLOSE_START_TIMESTAMP)     \
  ROW(OPEN_END, OPEN_END_TIMESTAMP)           \
  ROW(READ_END, READ_END_TIMESTAMP)           \
  ROW(WRITE_END, WRITE_END_TIMESTAMP)         \
  ROW(CLOSE_END, CLOSE_END_TIMESTAMP)         \
  ROW(READ_TIME, READ_TIME)                   \
  ROW(WRITE_TIME, WRITE_TIME)                 \
  ROW(META_TIME, META_TIME)                   \
  ROW(MAX_READ_TIME, MAX_READ_TIME)           \
  ROW(MAX_WRITE_TIME, MAX_WRITE_TIME)         \
  ROW(FASTEST_RANK_TIME, FASTEST_RANK_TIME)   \
  ROW(SLOWEST_RANK_TIME, SLOWEST_RANK_TIME)   \
  ROW(VARIANCE_RANK_TIME, VARIANCE_RANK_TIME) \
  ROW(VARIANCE_RANK_BYTES, VARIANCE_RANK_BYTES)

#define STOKER_STDIO_COUNTERS(ROW) \
  ROW(OPENS)                       \
  ROW(FDOPENS)                     \
  ROW(READS)                       \
  ROW(WRITES)                      \
  ROW(SEEKS)                       \
  ROW(FLUSHES)                     \
  ROW(BYTES_WRITTEN)               \
  ROW(BYTES_READ)                  \
  ROW(MAX_BYTE_READ)               \
  ROW(MAX_BYTE_WRITTEN)            \
  ROW(FASTEST_RANK)                \
  ROW(FASTEST_RANK_BYTES)          \
  ROW(SLOWEST_RANK)                \
  ROW(SLOWEST_RANK_BYTES)

#define STOKER_STDIO_TIMES(ROW)               \
  ROW(META_TIME, META_TIME)                   \
  ROW(WRITE_TIME, WRITE_TIME)                 \
  ROW(READ_TIME, READ_TIME)                   \
  ROW(OPEN_START, OPEN_START_TIMESTAMP)       \
  ROW(CLOSE_START, CLOSE_START_TIMESTAMP)     \
  ROW(WRITE_START, WRITE_START_TIMESTAMP)     \
  ROW(READ_START, READ_START_TIMESTAMP)       \
  ROW(OPEN_END, OPEN_END_TIMESTAMP)           \
  ROW(CLOSE_END, CLOSE_END_TIMESTAMP)         \
  ROW(WRITE_END, WRITE_END_TIMESTAMP)         \
  ROW(READ_END, READ_END_TIMESTAMP)           \
  ROW(FASTEST_RANK_TIME, FASTEST_RANK_TIME)   \
  ROW(SLOWEST_RANK_TIME, SLOWEST_RANK_TIME)   \
  ROW(VARIANCE_RANK_TIME, VARIANCE_RANK_TIME) \
  ROW(VARIANCE_RANK_BYTES, VARIANCE_RANK_BYTES)
// NOLINTEND(cppcoreguidelines-macro-usage)
