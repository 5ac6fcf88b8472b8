#pragma once

#include <cstdint>

#include "io/profiler/attach/loaded_objects.h"

namespace stoker {

// Writes slots of one object; those in its read-only pages as well, which are read-only again when
// the writer goes. Under the loader's lock. One thread at a time.
class SlotWriter {
 public:
  explicit SlotWriter(const LoadedObject& object);
  ~SlotWriter();
  SlotWriter(const SlotWriter&) = delete;
  SlotWriter& operator=(const SlotWriter&) = delete;

  bool read_only(uint64_t address) const { return address >= begin_ && address < end_; }
  // Any thread may read the slot meanwhile. False: its page could not be made writable.
  bool write(uint64_t address, void* value);

 private:
  bool make(int protection) const;

  uint64_t begin_ = 0, end_ = 0;  // pages that the loader made read-only
  bool opened_ = false;
};

void* read_slot(uint64_t address);

}  // namespace stoker
