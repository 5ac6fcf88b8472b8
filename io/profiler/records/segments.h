#pragma once

#include <array>
#include <cstdint>

#include "io/profiler/counters/arena.h"
#include "io/profiler/profile.h"

namespace stoker {

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

}  // namespace stoker
