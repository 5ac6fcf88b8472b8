#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "io/core/memory.h"

namespace stoker {

class Device;

// Batch-sized blocks of host memory that are used again and again. Any thread. Grows to as many
// slots as are in use at once, which the loader's window and the device's queue bound. The slots
// outlive the pool where a batch is still held.
class SlotPool {
 public:
  // `count` slots are made (and for a GPU pinned) at once, so that the first steps do not pay.
  SlotPool(Device& device, size_t slot_bytes, int64_t count);

  // A free slot; comes back when the last owner lets go.
  std::shared_ptr<uint8_t> acquire();

 private:
  struct Free {
    std::mutex mutex;
    std::vector<HostMemory> slots;
  };
  Device& device_;
  size_t slot_bytes_;
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

}  // namespace stoker
