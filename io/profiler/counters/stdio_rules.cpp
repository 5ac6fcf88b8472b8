#include "io/profiler/counters/stdio_rules.h"

#include <algorithm>

namespace stoker {
namespace {

using S = StdioCounters;

void add_meta_time(StdioRecord& record, const CallSpan& call) {
  add_time(call, record.counters.times[S::META_TIME], record.meta_covered);
}

void count_stream(StdioRecord& record, const CallSpan& call) {
  ++record.counters.counters[S::OPENS];
  stamp(call, record.counters.times[S::OPEN_START], record.counters.times[S::OPEN_END]);
  add_meta_time(record, call);
}

// Also of a flush, which writes 0 bytes where the file is.
void count_written(StdioRecord& record, int64_t bytes, const CallSpan& call) {
  auto& [counters, times] = record.counters;
  record.offset += bytes;
  counters[S::BYTES_WRITTEN] += bytes;
  counters[S::MAX_BYTE_WRITTEN] = std::max(counters[S::MAX_BYTE_WRITTEN], record.offset - 1);
  stamp(call, times[S::WRITE_START], times[S::WRITE_END]);
  add_time(call, times[S::WRITE_TIME], record.write_covered);
}

}  // namespace

void count_open(StdioRecord& record, const CallSpan& call) {
  record.offset = 0;
  count_stream(record, call);
}

void count_fdopen(StdioRecord& record, const CallSpan& call) {
  ++record.counters.counters[S::FDOPENS];
  count_stream(record, call);
}

void count_close(StdioRecord& record, const CallSpan& call) {
  stamp(call, record.counters.times[S::CLOSE_START], record.counters.times[S::CLOSE_END]);
  add_meta_time(record, call);
}

void count_read(StdioRecord& record, int64_t bytes, const CallSpan& call) {
  auto& [counters, times] = record.counters;
  ++counters[S::READS];
  ++record.read_sizes[size_bucket(bytes)];
  record.offset += bytes;
  counters[S::BYTES_READ] += bytes;
  counters[S::MAX_BYTE_READ] = std::max(counters[S::MAX_BYTE_READ], record.offset - 1);
  stamp(call, times[S::READ_START], times[S::READ_END]);
  add_time(call, times[S::READ_TIME], record.read_covered);
}

void count_write(StdioRecord& record, int64_t bytes, const CallSpan& call) {
  ++record.counters.counters[S::WRITES];
  ++record.write_sizes[size_bucket(bytes)];
  count_written(record, bytes, call);
}

void count_flush(StdioRecord& record, const CallSpan& call) {
  ++record.counters.counters[S::FLUSHES];
  count_written(record, 0, call);
}

void count_seek(StdioRecord& record, int64_t position, const CallSpan& call) {
  ++record.counters.counters[S::SEEKS];
  record.offset = position;
  add_meta_time(record, call);
}

}  // namespace stoker
