#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "io/profiler/counters/arena.h"
#include "io/profiler/records/file_record.h"
#include "io/profiler/records/small_mutex.h"

namespace stoker {

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
