#include "io/loader/slot_pool.h"

#include <fmt/format.h>

#include <utility>

#include "io/core/error.h"

namespace stoker {

SlotPool::SlotPool(HostAllocator allocate, size_t slot_bytes, int64_t count, uint64_t may_hold)
    : allocate_(std::move(allocate)),
      slot_bytes_(slot_bytes),
      ahead_(count - 1),
      may_hold_(may_hold) {
  for (int64_t i = 0; i < count; ++i) free_->slots.push_back(allocate_(slot_bytes_));
}

SlotPool::~SlotPool() {
  std::vector<HostMemory> slots;  // freed without the lock
  const std::lock_guard lock(free_->mutex);
  free_->ended = true;
  slots.swap(free_->slots);
}

void SlotPool::check_held() const {
  const int64_t held = [this] {
    const std::lock_guard lock(free_->mutex);
    return free_->in_use - ahead_;
  }();
  if (held < kAlwaysHeld) return;
  const uint64_t bytes = static_cast<uint64_t>(held) * slot_bytes_;
  if (bytes + slot_bytes_ <= may_hold_) return;
  const auto mb = [](uint64_t size) { return 1e-6 * static_cast<double>(size); };
  throw Error(ExitCode::config,
              fmt::format("loader: {} batches ({:.1f} MB) are still held, and with one more they "
                          "are above the {:.1f} MB that may be: let go of batches, copy what is to "
                          "be kept, or allow more",
                          held, mb(bytes), mb(may_hold_)));
}

std::shared_ptr<uint8_t> SlotPool::acquire() {
  HostMemory slot;
  {
    const std::lock_guard lock(free_->mutex);
    if (!free_->slots.empty()) {
      slot = std::move(free_->slots.back());
      free_->slots.pop_back();
    }
  }
  if (slot.data == nullptr) slot = allocate_(slot_bytes_);
  {
    const std::lock_guard lock(free_->mutex);
    ++free_->in_use;
  }
  uint8_t* pixels = slot.data.get();
  return std::shared_ptr<uint8_t>(pixels, [slot = std::move(slot), free = free_](uint8_t*) {
    const std::lock_guard lock(free->mutex);
    if (!free->ended) free->slots.push_back(slot);
    --free->in_use;
  });
}

}  // namespace stoker
