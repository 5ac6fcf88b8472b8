#include "io/profiler/records/segments.h"

namespace stoker {

bool SegmentList::add(const IoSegment& segment, SegmentPool& pool) {
  if (last_ == nullptr || last_->used == last_->segments.size()) {
    SegmentPool::Block* const block = pool.make();
    if (block == nullptr) return false;
    (last_ == nullptr ? first_ : last_->next) = block;
    last_ = block;
  }
  last_->segments[last_->used++] = segment;
  return true;
}

std::vector<IoSegment> SegmentList::all() const {
  std::vector<IoSegment> all;
  for (const SegmentPool::Block* block = first_; block != nullptr; block = block->next) {
    all.insert(all.end(), block->segments.begin(), block->segments.begin() + block->used);
  }
  return all;
}

}  // namespace stoker
