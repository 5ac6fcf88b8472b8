#pragma once

#include <cstdint>

#include "io/profiler/counters/call_span.h"
#include "io/profiler/counters/common_values.h"
#include "io/profiler/profile.h"

namespace stoker {

// Darshan's rules for the counters of its module POSIX (darshan-posix.c of 3.5): what each call
// that succeeded does to the record of its file. Pure; one thread at a time for each record. Which
// record that is says whoever calls.

struct PosixRecord {
  PosixCounters counters;
  // What the rules remember from call to call. It belongs to the file, not to the descriptor:
  // Darshan does not tell the readers of one file apart.
  int64_t offset = 0;
  int64_t last_byte_read = 0, last_byte_written = 0;
  enum class Moved { nothing, read, wrote } moved = Moved::nothing;
  double meta_covered = 0, read_covered = 0, write_covered = 0;
  CommonValues sizes, strides;
};

// The counters, with the commonest sizes and strides.
PosixCounters counters_of(const PosixRecord& record);

// One read or write. offset below 0: where the last call on the file ended.
struct PosixTransfer {
  int64_t bytes = 0;
  int64_t offset = -1;
  bool memory_aligned = true;  // to MEM_ALIGNMENT
};

// mode: the third argument of open(), where there was one; else 0.
void count_open(PosixRecord& record, int mode, const CallSpan& call);
// dup() and its like; the new descriptor is an open one more.
void count_duplicate(PosixRecord& record, const CallSpan& call);
// fileno(), the same.
void count_fileno(PosixRecord& record, const CallSpan& call);
void count_close(PosixRecord& record, const CallSpan& call);
void count_read(PosixRecord& record, const PosixTransfer& transfer, const CallSpan& call,
                Arena& arena);
void count_write(PosixRecord& record, const PosixTransfer& transfer, const CallSpan& call,
                 Arena& arena);
void count_seek(PosixRecord& record, int64_t position, const CallSpan& call);
void count_stat(PosixRecord& record, const CallSpan& call);
void count_map(PosixRecord& record);
// Time of fsync() (data_only: fdatasync()) is time of writing.
void count_sync(PosixRecord& record, bool data_only, const CallSpan& call);
// A file's new name is another record; the time is the old one's.
void count_rename_source(PosixRecord& record, const CallSpan& call);
void count_rename_target(PosixRecord& record, uint64_t source_id);

}  // namespace stoker
