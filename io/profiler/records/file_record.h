#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

#include "io/profiler/counters/posix_rules.h"
#include "io/profiler/counters/stdio_rules.h"
#include "io/profiler/records/segments.h"

namespace stoker {

// A mutex for so few instructions that who waits for it looks again for a while before it sleeps:
// waking a thread takes longer. For std::lock_guard. Any thread.
class SpinningMutex {
 public:
  void lock() {
    for (int look = 0; look < kLooks; ++look) {
      if (mutex_.try_lock()) return;
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kLooks = 100;
  std::mutex mutex_;
};

// What is kept of one file. Lives in the recorder's arena, as long as the session.
struct FileRecord {
  // Set before others see it.
  uint64_t id = 0;
  std::string_view name;
  int64_t block_bytes = 0;          // of its file system: POSIX_FILE_ALIGNMENT
  FileRecord* next_made = nullptr;  // of all records

  SpinningMutex mutex;  // of all below
  // Null: nothing was counted of this module.
  PosixRecord* posix = nullptr;
  StdioRecord* stdio = nullptr;
  SegmentList reads, writes, stream_reads, stream_writes;
};

}  // namespace stoker
