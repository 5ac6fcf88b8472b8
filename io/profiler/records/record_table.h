#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "io/profiler/counters/arena.h"
#include "io/profiler/counters/rules.h"
#include "io/profiler/profile.h"

namespace stoker {

// A mutex for few instructions: who waits for it looks again for a while before it sleeps, since
// waking a thread takes longer. 4 bytes, zero where it is free, and no library behind it, so that
// it may lie in memory that processes share. For std::lock_guard. Any thread.
class SmallMutex {
 public:
  void lock() {
    for (int look = 0; look < kLooks; ++look) {
      uint32_t free = kFree;
      if (state_.compare_exchange_weak(free, kLocked, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return;
      }
    }
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) futex(FUTEX_WAIT);
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) futex(FUTEX_WAKE);
  }

 private:
  static constexpr uint32_t kFree = 0, kLocked = 1, kAwaited = 2;
  static constexpr int kLooks = 100;

  // Sleeps where the lock is still awaited; or wakes one that does.
  void futex(int operation) {
    const int error = errno;
    const uint32_t value = operation == FUTEX_WAIT ? kAwaited : 1;
    ::syscall(SYS_futex, &state_, operation, value, nullptr, nullptr, 0);
    errno = error;
  }

  std::atomic<uint32_t> state_{kFree};
};

// Memory for the segments of a session, in blocks. Any thread.
class SegmentPool {
 public:
  struct Block {
    Block* next = nullptr;
    size_t used = 0;
    std::array<IoSegment, 7> segments;  // four lines of the cache
  };

  // In the arena, which outlives it.
  explicit SegmentPool(Arena& arena) : arena_(arena) {}
  // An empty block of the pool's, valid as long as the pool; null: no memory is left.
  Block* make() { return arena_.make<Block>(); }

 private:
  Arena& arena_;
};

// The segments of one file in one direction. One thread at a time. Not used after its pool.
class SegmentList {
 public:
  // False: the pool has no memory left.
  bool add(const IoSegment& segment, SegmentPool& pool);
  // Calls look(const IoSegment&) with each, in the order in which they were added. here(pointer)
  // says where what a block's pointer means is now; null: nowhere, and the rest is left out.
  template <class Look, class Here>
  void each(const Look& look, const Here& here) const {
    for (const SegmentPool::Block* block = here(first_); block != nullptr;
         block = here(block->next)) {
      const size_t used =
          block->used < block->segments.size() ? block->used : block->segments.size();
      for (size_t i = 0; i < used; ++i) look(block->segments[i]);
    }
  }

 private:
  SegmentPool::Block* first_ = nullptr;
  SegmentPool::Block* last_ = nullptr;
};

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

// Records by their number. Any thread; finding one takes no lock. Records and the table itself are
// in the arena, which outlives it.
class RecordTable {
 public:
  explicit RecordTable(Arena& arena) : arena_(arena) {}
  // Null: no record has this number.
  FileRecord* find(uint64_t id) const;
  // The record with this number, which is made if it does not exist. The name is copied. Null: no
  // memory is left.
  FileRecord* find_or_make(uint64_t id, std::string_view name, int64_t block_bytes);
  // The newest; from there by next_made to all others.
  FileRecord* newest() const { return newest_.load(std::memory_order_acquire); }

 private:
  // Open addressing, at most half full. Replaced by a larger one.
  struct Slots;
  const Slots* make_room();
  FileRecord* make(uint64_t id, std::string_view name, int64_t block_bytes);

  Arena& arena_;
  std::atomic<const Slots*> slots_{nullptr};
  std::atomic<FileRecord*> newest_{nullptr};
  SmallMutex making_;
  size_t records_ = 0;  // under making_
};

}  // namespace stoker
