#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
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

// What a recorder knows of one session. For io/profiler alone. Any thread.
class RecorderState {
 public:
  // Throws Error(ExitCode::environment) where the address space is not to be had.
  explicit RecorderState(const IoRecorderOptions& options);

  CallSpan span(CallTime time) const {
    return {seconds_at(time.begin_ns), seconds_at(time.end_ns)};
  }
  // What began before the session is put at its begin, which is no 0: that is "never".
  double seconds_at(int64_t ns) const {
    return 1e-9 * static_cast<double>(std::max<int64_t>(1, ns - begun.monotonic_ns));
  }

  // The name of `path` as a caller gave it. False: it cannot be told.
  bool name_of(int directory, const char* path, RecordName& name);
  // Null: it is left out, or no memory is left.
  FileRecord* file_named(std::string_view name);
  FileRecord* file_at(int directory, const char* path);
  // The file of a stream, also if that was opened before the profiler was attached.
  FileRecord* file_of(FILE* stream);

  // The counters of one module, to be changed. Under the file's mutex. Null: no memory is left.
  PosixRecord* posix_of(FileRecord& file);
  StdioRecord* stdio_of(FileRecord& file);
  // A read or write is a segment. Under the file's mutex.
  void keep_segment(SegmentList& list, int64_t offset, int64_t bytes, const CallSpan& call);

  // What was counted so far, about a microsecond a file.
  enum class Segments { with, without };
  IoProfile profile(Segments segments) const;

  const IoRecorderOptions options;
  const PathFilter filter;
  const MountTable mounts;
  const ProfileBegin begun;
  Arena arena;
  SegmentPool segments;
  RecordTable records{arena};
  DescriptorTable descriptors{arena};
  StreamTable streams{arena};
  // Bytes of calls on descriptors and streams of no known file.
  std::atomic<int64_t> elsewhere_read{0}, elsewhere_written{0};
  std::atomic<int64_t> dropped_files{0}, dropped_segments{0};
  std::atomic<bool> posix_partial{false}, stdio_partial{false};
};

// The way in for what wrappers tell: false where the recorder is off, and where the thread is in it
// already: a signal handler's call, or the recorder's own. While it lives, the state stays.
class Inside {
 public:
  explicit Inside(const IoRecorder& recorder);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  explicit operator bool() const { return state_ != nullptr; }
  RecorderState* operator->() const { return state_; }
  RecorderState& operator*() const { return *state_; }

 private:
  std::atomic<int64_t>* count_ = nullptr;  // null: not inside
  RecorderState* state_ = nullptr;
};

}  // namespace stoker
