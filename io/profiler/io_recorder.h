#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>

#include "io/profiler/profile.h"

struct stat;

namespace stoker {

class RecorderState;
class RecorderTables;
struct IoRecorderOptions;

// When a wrapped call began and ended: CLOCK_MONOTONIC. A value.
struct CallTime {
  int64_t begin_ns;
  int64_t end_ns;
};

// What the wrappers tell about calls that succeeded, counted by Darshan's rules (darshan-posix.c
// and darshan-stdio.c of version 3.5): the one place that knows which file a descriptor or a stream
// is. Any thread, also several on one file; takes no lock of libc's and makes no wrapped call;
// fails nothing: where the cap on memory is reached, it counts what it drops. What a signal handler
// does while its thread is in here is not counted. One for the process, never destroyed, so that
// threads that outlive main() may call it; tests make their own.
class IoRecorder {
 public:
  static IoRecorder& instance();
  IoRecorder();
  ~IoRecorder();

  // --- sessions, by whoever attaches the wrappers: one at a time. Nothing is kept outside of them.
  // What is told is counted from now on. What descriptors and streams are of is not known: named()
  // has to tell. Error(ExitCode::bug): one is open. Error(ExitCode::environment): no address space.
  void start(const IoRecorderOptions& options);
  // Ends it: what was counted since start(). Waits for the calls that are being counted, some
  // microseconds; takes one more for each file, and gives all memory back. Where no session of this
  // process is open: Error(ExitCode::bug).
  //
  // Stamps and segments of a call that began before the session are put at its begin, and its time
  // is counted from there. A call that is told after stop() is not counted.
  IoProfile stop();
  // The same so far, without segments; the session goes on.
  IoProfile totals() const;
  // Whether what is told is counted. In the child of a fork, never: it has forgotten all.
  bool on() const { return tables_.load(std::memory_order_relaxed) != nullptr; }
  // For the preloaded library, which has no sessions: what is told goes into these tables from now
  // on; null: nowhere. lasting: nobody will take them away, so that threads need not be counted.
  void use(RecorderTables* tables, bool lasting) {
    if (tables != nullptr) lasting_ = lasting;
    tables_ = tables;
  }
  // Whether no thread is in tables that do not last. Once nothing is counted, it stays so.
  bool nobody_inside() const {
    for (const Count& count : inside_) {
      if (count.threads != 0) return false;
    }
    return true;
  }
  // In the child of a fork: threads that were inside are not there.
  void forget_threads() {
    for (Count& count : inside_) count.threads = 0;
  }

  // --- descriptors; `path` as the caller gave it, relative to `directory` (AT_FDCWD). mode: the
  // third argument of open(), where it has one
  void opened(int fd, int directory, const char* path, CallTime time, int mode = 0);
  // It was open before the profiler was attached: nothing is counted.
  void named(int fd, const char* path);
  void closed(int fd, CallTime time);
  void closed_range(unsigned first, unsigned last);
  void duplicated(int from, int to, CallTime time);
  // offset: where it was read; below 0: at the descriptor's position. memory: the address, or the
  // bitwise or of the addresses of several pieces. Null: not known, and taken for aligned.
  void read(int fd, int64_t bytes, int64_t offset, const void* memory, CallTime time);
  void wrote(int fd, int64_t bytes, int64_t offset, const void* memory, CallTime time);
  void seeked(int fd, int64_t position, CallTime time);
  void stated(int fd, const struct stat& what, CallTime time);
  void stated(int directory, const char* path, const struct stat& what, CallTime time);
  void mapped(int fd, CallTime time);
  void synced(int fd, bool data_only, CallTime time);
  void renamed(int from_directory, const char* from, int to_directory, const char* to,
               CallTime time);

  // --- streams
  void stream_opened(FILE* stream, const char* path, CallTime time);
  void stream_opened(FILE* stream, int fd, CallTime time);                // fdopen
  void stream_asked_for_descriptor(FILE* stream, int fd, CallTime time);  // fileno
  void stream_read(FILE* stream, int64_t bytes, CallTime time);
  void stream_wrote(FILE* stream, int64_t bytes, CallTime time);
  void stream_seeked(FILE* stream, int64_t position, CallTime time);
  void stream_flushed(FILE* stream, CallTime time);
  void stream_closed(FILE* stream, CallTime time);

 private:
  friend class Inside;
  RecorderState& session() const;
  void forget_in_child();

  std::atomic<RecorderTables*> tables_{nullptr};  // null: off
  bool lasting_ = false;  // nobody waits until all threads have left the tables
  // How many threads are in the recorder, by a part of their number, so that they do not meet.
  struct alignas(64) Count {
    std::atomic<int64_t> threads{0};
  };
  mutable std::array<Count, 64> inside_;
  mutable std::mutex starting_;  // of start(), stop() and totals()
  std::unique_ptr<RecorderState> kept_;
};

}  // namespace stoker
