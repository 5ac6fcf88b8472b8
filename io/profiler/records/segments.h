#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "io/profiler/counters/arena.h"
#include "io/profiler/profile.h"

namespace stoker {

// Memory for segments, in blocks that sessions use again. Any thread.
class SegmentPool {
 public:
  struct Block {
    Block* next = nullptr;
    size_t used = 0;
    std::array<IoSegment, 8> segments;
  };

  // Throws Error(ExitCode::environment) where the address space is not to be had.
  explicit SegmentPool(size_t bytes) : arena_(bytes) {}
  // An empty block of the pool's; null: all are in use.
  Block* take();
  // Blocks linked by `next`.
  void give_back(Block* first, Block* last);

 private:
  Arena arena_;
  std::mutex mutex_;
  Block* free_ = nullptr;
};

// The segments of one file in one direction. One thread at a time. Whoever destroys it has taken
// them, or destroys the pool as well.
class SegmentList {
 public:
  // False: the pool has no memory left.
  bool add(const IoSegment& segment, SegmentPool& pool);
  // Takes all that were added, so that nothing is left.
  std::vector<IoSegment> take(SegmentPool& pool);

 private:
  SegmentPool::Block* first_ = nullptr;
  SegmentPool::Block* last_ = nullptr;
};

}  // namespace stoker
