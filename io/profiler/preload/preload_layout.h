#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "io/profiler/counters/arena.h"
#include "io/profiler/recorder_tables.h"

namespace stoker {

// The files by which preloaded processes and the program that started them understand each other.
// They lie in one folder, which kPreloadFolder names in the environment: `common`, which all of
// them map, and a log for each process, which the process maps and nobody else writes. What a
// process has counted is in its log at once, so that one that is killed loses nothing. Both sides
// must be of one build: `layout` says so.

inline constexpr const char* kPreloadFolder = "STOKER_PRELOAD_LOG";
inline constexpr const char* kPreloadCommonName = "common";

// What all processes of a program share. In the file `common`.
struct PreloadCommon {
  static constexpr uint64_t kMagic = 0x314e55524b4f5453;  // "STOKRUN1"
  static constexpr size_t kMounts = 512, kText = 64 << 10;
  // A file system, the one with the longest path first.
  struct Mount {
    uint32_t at = 0, length = 0;          // of its path, in `text`
    std::atomic<int64_t> block_bytes{0};  // 0: nobody has asked it yet
  };

  uint64_t magic = kMagic;
  uint64_t layout = 0;
  int64_t begin_ns = 0;  // of the program: CLOCK_MONOTONIC
  std::atomic<int64_t> processes{0};
  // How many bytes all of them together may still take for single reads and writes.
  std::atomic<int64_t> segment_bytes{0};
  uint32_t mounts = 0;
  std::array<Mount, kMounts> mount{};
  std::array<char, kText> text{};
};

// The reads of one thread, which alone writes this.
struct ThreadReads {
  ThreadReads* next = nullptr;
  // In reads of files that did not wait.
  std::atomic<int64_t> copied_ns{0};
};

// The begin of a process's log; behind it the memory of the records, then that of the segments.
struct PreloadLog {
  static constexpr uint64_t kMagic = 0x31474f4c4b4f5453;  // "STOKLOG1"

  PreloadLog(std::byte* records, size_t record_bytes, Arena::Ready records_ready,
             std::byte* segments, size_t segment_bytes, Arena::Ready segments_ready,
             const RecorderSurroundings& surroundings)
      : records(records, record_bytes, records_ready),
        segments(segments, segment_bytes, segments_ready),
        tables(surroundings, this->records, &this->segments) {}

  std::atomic<uint64_t> magic{0};  // written last
  uint64_t layout = 0;
  uintptr_t there = 0;  // where the process has mapped it
  uint64_t bytes = 0;
  int64_t number = 0;  // among the program's processes
  pid_t pid = 0;
  std::atomic<int64_t> end_ns{0};  // it ends, or becomes another executable; 0: it did not say
  std::atomic<ThreadReads*> threads{nullptr};
  Arena records, segments;
  RecorderTables tables;
};

// Differs between builds that lay these files out differently.
inline constexpr uint64_t kPreloadLayout =
    sizeof(PreloadLog) * 1'000'003 + sizeof(PreloadCommon) * 1'009 + sizeof(FileRecord) * 101 +
    sizeof(PosixRecord) * 11 + sizeof(StdioRecord) + sizeof(ThreadReads) * 7 +
    sizeof(SegmentPool::Block) * 13;

// What a process into which the library was loaded while it runs is asked for by another one, which
// writes this into its memory and has one of its threads call stoker_preload_request(). Both are of
// one build. A value.
struct PreloadRequest {
  enum What : int32_t { kAttach = 1, kDetach = 2 };
  enum Result : int32_t {
    kUnanswered = 0,
    kDone = 1,
    kNoRoom = 2,   // there is no such folder, or no room in it
    kCounted = 3,  // it is counted already
  };
  int32_t what = 0;
  int32_t result = kUnanswered;
  int64_t slots = 0;  // that were changed
  char folder[1024] = {};
};

}  // namespace stoker

// `block` is a PreloadRequest of `bytes` bytes. Changes no errno. One thread at a time.
extern "C" __attribute__((visibility("default"))) void stoker_preload_request(void* block,
                                                                              size_t bytes);
