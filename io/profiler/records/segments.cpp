#include "io/profiler/records/segments.h"

#include <utility>

namespace stoker {

SegmentPool::Block* SegmentPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (free_ != nullptr) {
      Block* const block = std::exchange(free_, free_->next);
      block->next = nullptr;
      block->used = 0;
      return block;
    }
  }
  return arena_.make<Block>();
}

void SegmentPool::give_back(Block* first, Block* last) {
  const std::lock_guard lock(mutex_);
  last->next = std::exchange(free_, first);
}

bool SegmentList::add(const IoSegment& segment, SegmentPool& pool) {
  if (last_ == nullptr || last_->used == last_->segments.size()) {
    SegmentPool::Block* const block = pool.take();
    if (block == nullptr) return false;
    (last_ == nullptr ? first_ : last_->next) = block;
    last_ = block;
  }
  last_->segments[last_->used++] = segment;
  return true;
}

std::vector<IoSegment> SegmentList::take(SegmentPool& pool) {
  std::vector<IoSegment> all;
  if (first_ == nullptr) return all;
  for (const SegmentPool::Block* block = first_; block != nullptr; block = block->next) {
    all.insert(all.end(), block->segments.begin(), block->segments.begin() + block->used);
  }
  pool.give_back(std::exchange(first_, nullptr), std::exchange(last_, nullptr));
  return all;
}

}  // namespace stoker
