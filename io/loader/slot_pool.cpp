#include "io/loader/slot_pool.h"

#include <utility>

#include "io/device/device.h"

namespace stoker {

SlotPool::SlotPool(Device& device, size_t slot_bytes, int64_t count)
    : device_(device), slot_bytes_(slot_bytes) {
  for (int64_t i = 0; i < count; ++i) free_->slots.push_back(device_.allocate(slot_bytes_));
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
  if (slot.data == nullptr) slot = device_.allocate(slot_bytes_);
  uint8_t* pixels = slot.data.get();
  return std::shared_ptr<uint8_t>(pixels, [slot = std::move(slot), free = free_](uint8_t*) {
    std::lock_guard lock(free->mutex);
    free->slots.push_back(slot);
  });
}

}  // namespace stoker
