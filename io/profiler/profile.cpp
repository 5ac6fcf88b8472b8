#include "io/profiler/profile.h"

#include <iterator>

namespace stoker {
namespace {

constexpr const char* kPosixCounterNames[] = {"POSIX_OPENS",
                                              "POSIX_FILENOS",
                                              "POSIX_DUPS",
                                              "POSIX_READS",
                                              "POSIX_WRITES",
                                              "POSIX_SEEKS",
                                              "POSIX_STATS",
                                              "POSIX_MMAPS",
                                              "POSIX_FSYNCS",
                                              "POSIX_FDSYNCS",
                                              "POSIX_RENAME_SOURCES",
                                              "POSIX_RENAME_TARGETS",
                                              "POSIX_RENAMED_FROM",
                                              "POSIX_MODE",
                                              "POSIX_BYTES_READ",
                                              "POSIX_BYTES_WRITTEN",
                                              "POSIX_MAX_BYTE_READ",
                                              "POSIX_MAX_BYTE_WRITTEN",
                                              "POSIX_CONSEC_READS",
                                              "POSIX_CONSEC_WRITES",
                                              "POSIX_SEQ_READS",
                                              "POSIX_SEQ_WRITES",
                                              "POSIX_RW_SWITCHES",
                                              "POSIX_MEM_NOT_ALIGNED",
                                              "POSIX_MEM_ALIGNMENT",
                                              "POSIX_FILE_NOT_ALIGNED",
                                              "POSIX_FILE_ALIGNMENT",
                                              "POSIX_MAX_READ_TIME_SIZE",
                                              "POSIX_MAX_WRITE_TIME_SIZE",
                                              "POSIX_SIZE_READ_0_100",
                                              "POSIX_SIZE_READ_100_1K",
                                              "POSIX_SIZE_READ_1K_10K",
                                              "POSIX_SIZE_READ_10K_100K",
                                              "POSIX_SIZE_READ_100K_1M",
                                              "POSIX_SIZE_READ_1M_4M",
                                              "POSIX_SIZE_READ_4M_10M",
                                              "POSIX_SIZE_READ_10M_100M",
                                              "POSIX_SIZE_READ_100M_1G",
                                              "POSIX_SIZE_READ_1G_PLUS",
                                              "POSIX_SIZE_WRITE_0_100",
                                              "POSIX_SIZE_WRITE_100_1K",
                                              "POSIX_SIZE_WRITE_1K_10K",
                                              "POSIX_SIZE_WRITE_10K_100K",
                                              "POSIX_SIZE_WRITE_100K_1M",
                                              "POSIX_SIZE_WRITE_1M_4M",
                                              "POSIX_SIZE_WRITE_4M_10M",
                                              "POSIX_SIZE_WRITE_10M_100M",
                                              "POSIX_SIZE_WRITE_100M_1G",
                                              "POSIX_SIZE_WRITE_1G_PLUS",
                                              "POSIX_STRIDE1_STRIDE",
                                              "POSIX_STRIDE2_STRIDE",
                                              "POSIX_STRIDE3_STRIDE",
                                              "POSIX_STRIDE4_STRIDE",
                                              "POSIX_STRIDE1_COUNT",
                                              "POSIX_STRIDE2_COUNT",
                                              "POSIX_STRIDE3_COUNT",
                                              "POSIX_STRIDE4_COUNT",
                                              "POSIX_ACCESS1_ACCESS",
                                              "POSIX_ACCESS2_ACCESS",
                                              "POSIX_ACCESS3_ACCESS",
                                              "POSIX_ACCESS4_ACCESS",
                                              "POSIX_ACCESS1_COUNT",
                                              "POSIX_ACCESS2_COUNT",
                                              "POSIX_ACCESS3_COUNT",
                                              "POSIX_ACCESS4_COUNT",
                                              "POSIX_FASTEST_RANK",
                                              "POSIX_FASTEST_RANK_BYTES",
                                              "POSIX_SLOWEST_RANK",
                                              "POSIX_SLOWEST_RANK_BYTES"};
static_assert(std::size(kPosixCounterNames) == PosixCounters::kCounters);

constexpr const char* kPosixTimeNames[] = {"POSIX_F_OPEN_START_TIMESTAMP",
                                           "POSIX_F_READ_START_TIMESTAMP",
                                           "POSIX_F_WRITE_START_TIMESTAMP",
                                           "POSIX_F_CLOSE_START_TIMESTAMP",
                                           "POSIX_F_OPEN_END_TIMESTAMP",
                                           "POSIX_F_READ_END_TIMESTAMP",
                                           "POSIX_F_WRITE_END_TIMESTAMP",
                                           "POSIX_F_CLOSE_END_TIMESTAMP",
                                           "POSIX_F_READ_TIME",
                                           "POSIX_F_WRITE_TIME",
                                           "POSIX_F_META_TIME",
                                           "POSIX_F_MAX_READ_TIME",
                                           "POSIX_F_MAX_WRITE_TIME",
                                           "POSIX_F_FASTEST_RANK_TIME",
                                           "POSIX_F_SLOWEST_RANK_TIME",
                                           "POSIX_F_VARIANCE_RANK_TIME",
                                           "POSIX_F_VARIANCE_RANK_BYTES"};
static_assert(std::size(kPosixTimeNames) == PosixCounters::kTimes);

constexpr const char* kStdioCounterNames[] = {"STDIO_OPENS",         "STDIO_FDOPENS",
                                              "STDIO_READS",         "STDIO_WRITES",
                                              "STDIO_SEEKS",         "STDIO_FLUSHES",
                                              "STDIO_BYTES_WRITTEN", "STDIO_BYTES_READ",
                                              "STDIO_MAX_BYTE_READ", "STDIO_MAX_BYTE_WRITTEN",
                                              "STDIO_FASTEST_RANK",  "STDIO_FASTEST_RANK_BYTES",
                                              "STDIO_SLOWEST_RANK",  "STDIO_SLOWEST_RANK_BYTES"};
static_assert(std::size(kStdioCounterNames) == StdioCounters::kCounters);

constexpr const char* kStdioTimeNames[] = {"STDIO_F_META_TIME",
                                           "STDIO_F_WRITE_TIME",
                                           "STDIO_F_READ_TIME",
                                           "STDIO_F_OPEN_START_TIMESTAMP",
                                           "STDIO_F_CLOSE_START_TIMESTAMP",
                                           "STDIO_F_WRITE_START_TIMESTAMP",
                                           "STDIO_F_READ_START_TIMESTAMP",
                                           "STDIO_F_OPEN_END_TIMESTAMP",
                                           "STDIO_F_CLOSE_END_TIMESTAMP",
                                           "STDIO_F_WRITE_END_TIMESTAMP",
                                           "STDIO_F_READ_END_TIMESTAMP",
                                           "STDIO_F_FASTEST_RANK_TIME",
                                           "STDIO_F_SLOWEST_RANK_TIME",
                                           "STDIO_F_VARIANCE_RANK_TIME",
                                           "STDIO_F_VARIANCE_RANK_BYTES"};
static_assert(std::size(kStdioTimeNames) == StdioCounters::kTimes);

}  // namespace

std::span<const char* const> posix_counter_names() { return kPosixCounterNames; }
std::span<const char* const> posix_time_names() { return kPosixTimeNames; }
std::span<const char* const> stdio_counter_names() { return kStdioCounterNames; }
std::span<const char* const> stdio_time_names() { return kStdioTimeNames; }

}  // namespace stoker
