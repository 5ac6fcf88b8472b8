#include "io/profiler/records/record_table.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>

namespace stoker {
namespace {

constexpr size_t kSlack = 64;  // for the alignment of three blocks

}  // namespace

// How finding needs no lock:
// 1. A record is complete before its slot gets it (release, acquire), and no slot is emptied.
// 2. A larger table is complete before it becomes the table. Who still looks into the older one
//    misses at most what was made since, and looks again under the lock before making a record.
// 3. Older tables stay in the arena; together they are at most as large as the last.

struct RecordTable::Slots {
  explicit Slots(std::span<std::atomic<FileRecord*>> records) : records(records) {}
  FileRecord* find(uint64_t id) const {
    for (size_t i = id;; ++i) {
      FileRecord* const record = at(i).load(std::memory_order_acquire);
      if (record == nullptr || record->id == id) return record;
    }
  }
  // The record is not in the table yet. Called under the lock.
  void put(FileRecord* record) const {
    size_t i = record->id;
    while (at(i).load(std::memory_order_relaxed) != nullptr) ++i;
    at(i).store(record, std::memory_order_release);
  }
  std::atomic<FileRecord*>& at(size_t i) const { return records[i & (records.size() - 1)]; }
  std::span<std::atomic<FileRecord*>> records;
};

FileRecord* RecordTable::find(uint64_t id) const {
  const Slots* const slots = slots_.load(std::memory_order_acquire);
  return slots == nullptr ? nullptr : slots->find(id);
}

FileRecord* RecordTable::find_or_make(uint64_t id, std::string_view name, int64_t block_bytes) {
  if (FileRecord* const found = find(id)) return found;
  const std::lock_guard lock(making_);
  if (FileRecord* const found = find(id)) return found;
  const Slots* const slots = make_room();
  FileRecord* const made = slots == nullptr ? nullptr : make(id, name, block_bytes);
  if (made == nullptr) return nullptr;
  slots->put(made);
  newest_.store(made, std::memory_order_release);
  ++records_;
  return made;
}

const RecordTable::Slots* RecordTable::make_room() {
  constexpr size_t kFirst = 1024;
  const Slots* const old = slots_.load(std::memory_order_relaxed);
  if (old != nullptr && 2 * (records_ + 1) <= old->records.size()) return old;
  const size_t size = old == nullptr ? kFirst : 2 * old->records.size();
  using Slot = std::atomic<FileRecord*>;
  auto* const memory = static_cast<Slot*>(arena_.allocate(size * sizeof(Slot)));
  void* const place = memory == nullptr ? nullptr : arena_.allocate(sizeof(Slots));
  if (place == nullptr) return nullptr;
  std::uninitialized_value_construct_n(memory, size);
  const Slots* const larger =
      std::construct_at(static_cast<Slots*>(place), std::span(memory, size));
  if (old != nullptr) {
    for (const Slot& slot : old->records) {
      FileRecord* const record = slot.load(std::memory_order_relaxed);
      if (record != nullptr) larger->put(record);
    }
  }
  slots_.store(larger, std::memory_order_release);
  return larger;
}

FileRecord* RecordTable::make(uint64_t id, std::string_view name, int64_t block_bytes) {
  // One that then had no room for its counters would be of no use.
  constexpr size_t kCounters = sizeof(PosixRecord);
  if (arena_.left() < name.size() + sizeof(FileRecord) + kCounters + kSlack) return nullptr;
  auto* const text = static_cast<char*>(arena_.allocate(name.size()));
  FileRecord* const record = text == nullptr ? nullptr : arena_.make<FileRecord>();
  if (record == nullptr) return nullptr;
  std::copy(name.begin(), name.end(), text);
  record->id = id;
  record->name = {text, name.size()};
  record->block_bytes = block_bytes;
  record->next_made = newest_.load(std::memory_order_relaxed);
  return record;
}

bool SegmentList::add(const IoSegment& segment, SegmentPool& pool) {
  if (last_ == nullptr || last_->used == last_->segments.size()) {
    SegmentPool::Block* const block = pool.make();
    if (block == nullptr) return false;
    (last_ == nullptr ? first_ : last_->next) = block;
    last_ = block;
  }
  // Where the process dies in between, there is no half of one.
  last_->segments[last_->used] = segment;
  ++last_->used;
  return true;
}

}  // namespace stoker
