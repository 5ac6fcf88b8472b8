#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/profiler/attach/loaded_objects.h"

namespace stoker {

// Addresses of memory, from `begin` to before `end`.
struct MemoryRange {
  uint64_t begin = 0, end = 0;
};

// What of the process's memory is writable: as it was when it was first asked, which reads
// /proc/self/maps. One thread at a time.
class WritableMemory {
 public:
  // The parts of a range that are not; all of it where the system does not say.
  std::vector<MemoryRange> others_in(MemoryRange range);

 private:
  std::optional<std::vector<MemoryRange>> writable_;  // rising
};

// Writes slots of one object; those in its read-only pages as well, which are read-only again when
// the writer goes. Pages that somebody else made writable stay so: other tools that change slots
// rely on it. Under the loader's lock. One thread at a time. `memory` must outlive it.
class SlotWriter {
 public:
  SlotWriter(const LoadedObject& object, WritableMemory& memory);
  ~SlotWriter();
  SlotWriter(const SlotWriter&) = delete;
  SlotWriter& operator=(const SlotWriter&) = delete;

  bool read_only(uint64_t address) const { return address >= relro_.begin && address < relro_.end; }
  // Any thread may read the slot meanwhile. False: its page could not be made writable.
  bool write(uint64_t address, void* value);

 private:
  bool make(int protection) const;

  WritableMemory& memory_;
  MemoryRange relro_;                               // pages that the loader made read-only
  std::optional<std::vector<MemoryRange>> opened_;  // of these, those that were so
};

void* read_slot(uint64_t address);

}  // namespace stoker
