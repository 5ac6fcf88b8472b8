#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "io/core/system/memory.h"
#include "io/loader/lmdbio/database/lmdb_page.h"

namespace stoker {

// A place in a tree of pages, as liblmdb's cursor has it: a stack of pointers into the map. It is
// good wherever the file is mapped at the same address, and is sent there as its bytes. A value.
struct MappedCursor {
  static constexpr uint64_t kMostDepth = 32;  // liblmdb's CURSOR_STACK
  struct Level {
    const uint8_t* page = nullptr;
    uint64_t index = 0;
  };
  int64_t record = 0;  // the number of the record that it is at
  uint64_t depth = 0;  // 0: behind the last record
  std::array<Level, kMostDepth> stack{};
};

// The main database in a map of its file. Any thread. Throws LmdbDamage if something is not as it
// has to be; a page that is no longer in the file ends the process (FileMap).
class MappedTree {
 public:
  // The map must outlive it.
  MappedTree(Bytes map, const LmdbMeta& meta) : map_(map), meta_(meta) {}

  // At the first record.
  MappedCursor first() const;
  // Moves on by `records` records. `take` gets their values, which are pages of the map, in their
  // order. If `take` is empty, only leaf pages are looked at.
  void advance(MappedCursor& cursor, int64_t records,
               const std::function<void(Bytes)>& take = {}) const;
  // Checks a cursor that came from another rank: it has to point to pages of the map, and to
  // entries of them.
  void check(const MappedCursor& cursor) const;

 private:
  LmdbPage page(const uint8_t* at, uint64_t level) const;
  Bytes value(const uint8_t* page, const LmdbNode& node) const;
  // Down from the last page of the stack, to the first record below it.
  void descend(MappedCursor& cursor) const;
  // From the end of a leaf to the next one.
  void next_leaf(MappedCursor& cursor) const;

  const Bytes map_;
  const LmdbMeta meta_;
};

}  // namespace stoker
