#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "io/profiler/counters/posix_rules.h"
#include "io/profiler/counters/stdio_rules.h"
#include "io/profiler/records/segments.h"
#include "io/profiler/records/small_mutex.h"

namespace stoker {

// What is kept of one file. Lives in the recorder's arena, as long as the session.
struct FileRecord {
  // Set before others see it.
  uint64_t id = 0;
  std::string_view name;
  int64_t block_bytes = 0;          // of its file system: POSIX_FILE_ALIGNMENT
  FileRecord* next_made = nullptr;  // of all records
  // What slow reads took from a device, where somebody asks the kernel (RecorderTables::heard).
  std::atomic<int64_t> cold_bytes{0};

  SmallMutex mutex;  // of all below
  // Null: nothing was counted of this module.
  PosixRecord* posix = nullptr;
  StdioRecord* stdio = nullptr;
  SegmentList reads, writes, stream_reads, stream_writes;
};

}  // namespace stoker
