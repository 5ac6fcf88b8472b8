#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "io/metrics/io_profile/io_recorder_options.h"
#include "io/profiler/counters/arena.h"
#include "io/profiler/counters/call_span.h"
#include "io/profiler/counters/record_name.h"
#include "io/profiler/io_recorder.h"
#include "io/profiler/profile_begin.h"
#include "io/profiler/records/descriptor_table.h"
#include "io/profiler/records/file_record.h"
#include "io/profiler/records/mount_table.h"
#include "io/profiler/records/path_filter.h"
#include "io/profiler/records/record_table.h"
#include "io/profiler/records/segments.h"
#include "io/profiler/records/stream_table.h"

namespace stoker {

// What a recorder knows. For io/profiler alone. Any thread.
//
// Time has parts: even ones between sessions, odd ones of a session. A record's counters are of one
// part, and enter a new one when they are touched first in it. So beginning a session changes a
// number, and ending one looks only at the records that were touched. While a session is being
// collected, records that are new to it enter the part that follows, and those not collected yet go
// on in it: no call waits, and each is counted in exactly one part.
class RecorderState {
 public:
  // Throws Error(ExitCode::environment) where the address space is not to be had.
  explicit RecorderState(const IoRecorderOptions& options);

  // Forgets which files descriptors and streams are of, but for the standard streams.
  void forget_handles();
  CallSpan span(CallTime time) const {
    return {seconds_at(time.begin_ns), seconds_at(time.end_ns)};
  }
  double seconds_at(int64_t ns) const {
    return 1e-9 * static_cast<double>(ns - begun.monotonic_ns);
  }

  // The name of `path` as a caller gave it. False: it cannot be told.
  bool name_of(int directory, const char* path, RecordName& name);
  // Null: it is left out, or no memory is left.
  FileRecord* file_named(std::string_view name);
  FileRecord* file_at(int directory, const char* path);
  // The file of a stream, also if that was opened before the profiler was attached.
  FileRecord* file_of(FILE* stream);

  // The counters of one module, to be changed: in the part of time that is under way. Under the
  // file's mutex. Null: no memory is left.
  PosixRecord* posix_of(FileRecord& file);
  StdioRecord* stdio_of(FileRecord& file);
  // A read or write of POSIX is a segment, while a session is open. Under the file's mutex.
  void keep_segment(const FileRecord& file, SegmentList& list, const PosixTransfer& transfer,
                    const CallSpan& call);

  // Error(ExitCode::bug) where a session is open already.
  void begin_session();
  // Calls collect(file) for each record that was touched in the session, under its mutex.
  template <class F>
  void end_session(F collect);

  const IoRecorderOptions options;
  const PathFilter filter;
  const MountTable mounts;
  const ProfileBegin begun;  // when the recorder was
  Arena arena;
  SegmentPool segments;
  RecordTable records{arena};
  DescriptorTable descriptors{arena};
  StreamTable streams{arena};
  // Bytes of calls on descriptors and streams of no known file.
  std::atomic<int64_t> elsewhere_read{0}, elsewhere_written{0};
  std::atomic<int64_t> dropped_files{0}, dropped_segments{0};
  std::atomic<bool> posix_partial{false}, stdio_partial{false};

 private:
  void enter_part(FileRecord& file);
  FileRecord* begin_collecting();
  void end_collecting();

  std::mutex session_;  // while one begins, and while it is collected
  std::atomic<uint32_t> part_{2};
  std::mutex entering_;  // of the two below, and of changes of part_
  bool collecting_ = false;
  FileRecord* touched_ = nullptr;  // in this session; by next_touched
};

template <class F>
void RecorderState::end_session(F collect) {
  const std::lock_guard session(session_);
  struct Collecting {
    RecorderState& state;
    FileRecord* file = state.begin_collecting();
    ~Collecting() { state.end_collecting(); }
  } at{*this};
  while (at.file != nullptr) {
    const std::lock_guard lock(at.file->mutex);
    collect(*at.file);
    begin_part(*at.file);
    ++at.file->part;
    at.file = at.file->next_touched;
  }
}

// The way in for what wrappers tell: false where the recorder is off, and where the thread is in it
// already: a signal handler's call, or the recorder's own.
class Inside {
 public:
  explicit Inside(RecorderState* state);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  explicit operator bool() const { return state_ != nullptr; }
  RecorderState* operator->() const { return state_; }
  RecorderState& operator*() const { return *state_; }

 private:
  RecorderState* const state_;
};

}  // namespace stoker
