#pragma once

#include <algorithm>
#include <cstdint>

#include "io/profiler/counters/arena.h"
#include "io/profiler/profile.h"

namespace stoker {

// When a call began and ended, in seconds. A value. 0: not known; such a call takes no time.
struct CallSpan {
  double begin_s = 0, end_s = 0;
  double seconds() const { return end_s - begin_s; }
};

// The first begin and the last end of calls of one kind, as Darshan keeps them. 0: none yet.
inline void stamp(const CallSpan& call, double& first_begin, double& last_end) {
  if (first_begin == 0 || first_begin > call.begin_s) first_begin = call.begin_s;
  last_end = call.end_s;
}

// Adds the part of the call that no earlier one covered; `covered` is up to where they did. So the
// time of calls on one file at once counts once. A call that ended before others that were counted
// earlier adds nothing (Darshan would take time off).
inline void add_time(const CallSpan& call, double& total, double& covered) {
  if (call.begin_s == 0 || call.end_s == 0) return;
  total += std::max(0., call.end_s - std::max(call.begin_s, covered));
  covered = std::max(covered, call.end_s);
}

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
