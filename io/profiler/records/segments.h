#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "io/profiler/counters/arena.h"
#include "io/profiler/profile.h"

namespace stoker {

// Memory for the segments of a session, in blocks. Any thread.
class SegmentPool {
 public:
  struct Block {
    Block* next = nullptr;
    size_t used = 0;
    std::array<IoSegment, 8> segments;
  };

  // Throws Error(ExitCode::environment) where the address space is not to be had.
  explicit SegmentPool(size_t bytes) : arena_(bytes) {}
  // An empty block of the pool's, valid as long as the pool; null: no memory is left.
  Block* make() { return arena_.make<Block>(); }

 private:
  Arena arena_;
};

// The segments of one file in one direction. One thread at a time. Not used after its pool.
class SegmentList {
 public:
  // False: the pool has no memory left.
  bool add(const IoSegment& segment, SegmentPool& pool);
  std::vector<IoSegment> all() const;

 private:
  SegmentPool::Block* first_ = nullptr;
  SegmentPool::Block* last_ = nullptr;
};

}  // namespace stoker
