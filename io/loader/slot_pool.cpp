#include "io/loader/slot_pool.h"

#include <utility>

namespace stoker {

SlotPool::SlotPool(HostAllocator allocate, size_t slot_bytes, int64_t count)
    : allocate_(std::move(allocate)), slot_bytes_(slot_bytes) {
  for (int64_t i = 0; i < count; ++i) free_->slots.push_back(allocate_(slot_bytes_));
}

std::shared_ptr<uint8_t> SlotPool::acquire() {
  HostMemory slot;
  {
    std::lock_guard lock(free_->mutex);
    if (!free_->slots.empty()) {
      slot = std::move(free_->slots.back());
      free_->slots.pop_back();
    }
  }
  if (slot.data == nullptr) slot = allocate_(slot_bytes_);
  uint8_t* pixels = slot.data.get();
  return std::shared_ptr<uint8_t>(pixels, [slot = std::move(slot), free = free_](uint8_t*) {
    std::lock_guard lock(free->mutex);
    free->slots.push_back(slot);
  });
}

}  // namespace stoker
