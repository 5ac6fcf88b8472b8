#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// Batch-sized blocks of host memory that are used again and again. Any thread. Never blocks: it
// grows to as many slots as are in use at once, which the loader's window and the device's queue
// bound, and never shrinks. Slots that a batch still holds outlive the pool. What a slot needs to
// be freed, it holds itself.
class SlotPool {
 public:
  // Makes `count` slots of `slot_bytes` bytes (pinned for a GPU) at once, so that the first steps
  // do not pay for them. Throws what `allocate` throws.
  SlotPool(HostAllocator allocate, size_t slot_bytes, int64_t count);

  // A free slot, or a new one; it comes back when its last owner lets go, on any thread. Its
  // contents are those of the batch before. Throws what `allocate` throws.
  std::shared_ptr<uint8_t> acquire();

 private:
  // Shared with all slots in use, which come back to it even when the pool is gone.
  struct Free {
    std::mutex mutex;
    std::vector<HostMemory> slots;
  };
  const HostAllocator allocate_;
  size_t slot_bytes_;
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

}  // namespace stoker
