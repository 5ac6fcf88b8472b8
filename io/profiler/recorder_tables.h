#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "io/profiler/counters/arena.h"
#include "io/profiler/counters/record_name.h"
#include "io/profiler/counters/rules.h"
#include "io/profiler/io_recorder.h"
#include "io/profiler/records/descriptor_table.h"
#include "io/profiler/records/record_table.h"
#include "io/profiler/records/stream_table.h"

namespace stoker {

// What kind of call is heard of.
enum class HeardCall { open, read, write };

// What somebody else says of files, and hears of calls. Plain functions, for all this may lie in
// memory that another process reads. A value.
struct RecorderSurroundings {
  // What the functions get.
  const void* of = nullptr;
  // Whether files of this name are looked at.
  bool (*sees)(const void* of, std::string_view name) = nullptr;
  // The block size of the file system on which they lie.
  int64_t (*block_bytes)(const void* of, std::string_view name) = nullptr;
  // Hears of each open, read and write once it is counted; file: null where it is of none. Null:
  // nobody listens.
  void (*heard)(HeardCall kind, FileRecord* file, int64_t bytes, CallTime time) = nullptr;
  // Which process tells: calls on descriptors that another one makes in the same memory, the child
  // of a vfork, are not of interest. 0: that is not asked.
  pid_t process = 0;
  int64_t memory_alignment = 8;
  int64_t begin_ns = 0;  // of the session: CLOCK_MONOTONIC
};

// The tables of one session: which files there are, and what descriptors and streams are of. What
// IoRecorder needs while calls are told; no library but libc's is behind it. For io/profiler alone.
// Any thread.
class RecorderTables {
 public:
  // Both arenas outlive it. segment_arena: null, single reads and writes are not kept.
  RecorderTables(const RecorderSurroundings& surroundings, Arena& arena, Arena* segment_arena);

  // In place of those of a state that did not know them: the records of the standard streams, which
  // Darshan opens when it starts, at no time.
  void add_standard_streams();

  CallSpan span(CallTime time) const {
    return {seconds_at(time.begin_ns), seconds_at(time.end_ns)};
  }
  // What began before the session is put at its begin, which is no 0: that is "never".
  double seconds_at(int64_t ns) const {
    return 1e-9 * static_cast<double>(std::max<int64_t>(1, ns - surroundings.begin_ns));
  }
  // False: the call is one of the child of a vfork.
  bool of_this_process() const;
  void hear(HeardCall kind, FileRecord* file, int64_t bytes, CallTime time) const {
    if (surroundings.heard != nullptr) surroundings.heard(kind, file, bytes, time);
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

  const RecorderSurroundings surroundings;
  Arena& arena;
  const bool keeps_segments;
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
// already: a signal handler's call, or the recorder's own. While it lives, the tables stay.
class Inside {
 public:
  explicit Inside(const IoRecorder& recorder);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  explicit operator bool() const { return tables_ != nullptr; }
  RecorderTables* operator->() const { return tables_; }
  RecorderTables& operator*() const { return *tables_; }

 private:
  std::atomic<int64_t>* count_ = nullptr;  // null: nobody asks for it
  bool entered_ = false;
  RecorderTables* tables_ = nullptr;
};

}  // namespace stoker
