#pragma once

#include <cstdint>

#include "io/profiler/counters/call_span.h"
#include "io/profiler/profile.h"

namespace stoker {

// Darshan's rules for the counters of its module STDIO (darshan-stdio.c of 3.5): what each call on
// a stream that succeeded does to the record of its file. Pure; one thread at a time for each
// record.

struct StdioRecord {
  StdioCounters counters;
  int64_t offset = 0;  // of the file, not of the stream
  double meta_covered = 0, read_covered = 0, write_covered = 0;
  SizeCounts read_sizes{}, write_sizes{};  // which Darshan counts of POSIX alone
};

void count_open(StdioRecord& record, const CallSpan& call);
// fdopen(): one more stream, at the place where the file is.
void count_fdopen(StdioRecord& record, const CallSpan& call);
void count_close(StdioRecord& record, const CallSpan& call);
// Calls that moved no item do not count; whoever calls leaves them out.
void count_read(StdioRecord& record, int64_t bytes, const CallSpan& call);
void count_write(StdioRecord& record, int64_t bytes, const CallSpan& call);
// fflush(): time of writing, and a stamp of it.
void count_flush(StdioRecord& record, const CallSpan& call);
void count_seek(StdioRecord& record, int64_t position, const CallSpan& call);

}  // namespace stoker
