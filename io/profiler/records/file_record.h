#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
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

// The counters of one module for one file: those of the part of time that is under way, and those
// of all parts before. So a session has maxima, commonest values and stamps of its own, and the
// whole run has them as well.
template <class Record>
struct ModuleRecord {
  using Counters = decltype(Record::counters);
  Record now;
  Counters before;
  bool in_now = false, in_before = false;  // whether anything was counted
};

// What is kept of one file. Lives in the recorder's arena, for ever.
struct FileRecord {
  // Set before others see it.
  uint64_t id = 0;
  std::string_view name;
  int64_t block_bytes = 0;          // of its file system: POSIX_FILE_ALIGNMENT
  FileRecord* next_made = nullptr;  // of all records

  SpinningMutex mutex;                 // of all below
  uint32_t part = 0;                   // of time that `now` of the modules is of; 0: of none yet
  FileRecord* next_touched = nullptr;  // in this session
  ModuleRecord<PosixRecord>* posix = nullptr;
  ModuleRecord<StdioRecord>* stdio = nullptr;
  SegmentList reads, writes;
};

// What was is `before`, and a new part begins. Under the record's mutex.
void begin_part(FileRecord& file);

// Times are the recorder's: seconds since it began. Absent: nothing was counted. Under the record's
// mutex.
std::optional<PosixCounters> of_part(const ModuleRecord<PosixRecord>* module);
std::optional<StdioCounters> of_part(const ModuleRecord<StdioRecord>* module);
std::optional<PosixCounters> of_all(const ModuleRecord<PosixRecord>* module);
std::optional<StdioCounters> of_all(const ModuleRecord<StdioRecord>* module);

}  // namespace stoker
