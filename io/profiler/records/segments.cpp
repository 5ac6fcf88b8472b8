#include "io/profiler/records/segments.h"

namespace stoker {

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
