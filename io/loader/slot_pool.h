#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// Batch-sized blocks of host memory that are used again and again. Any thread. Never blocks: it
// grows to as many slots as are in use at once, which the loader's window, the device's queue and
// what callers hold bound, and never shrinks. Slots that a batch still holds outlive the pool. What
// a slot needs to be freed, it holds itself.
class SlotPool {
 public:
  // However large batches are, a caller may hold this many.
  static constexpr int64_t kAlwaysHeld = 4;

  // Makes `count` slots of `slot_bytes` bytes (pinned for a GPU) at once, so that the first steps
  // do not pay for them: one more than the loader itself has ahead. may_hold: Loader::Inputs.
  // Throws what `allocate` throws.
  SlotPool(HostAllocator allocate, size_t slot_bytes, int64_t count, uint64_t may_hold);

  // Free slots go; those in use when they are let go of.
  ~SlotPool();
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  // Error(ExitCode::config) where callers hold as many batches as they may: none can be handed out.
  void check_held() const;

  // A free slot, or a new one; it comes back when its last owner lets go, on any thread. Its
  // contents are those of the batch before. Throws what `allocate` throws.
  std::shared_ptr<uint8_t> acquire();

 private:
  // Shared with all slots in use.
  struct Free {
    std::mutex mutex;
    std::vector<HostMemory> slots;
    int64_t in_use = 0;
    bool ended = false;
  };
  const HostAllocator allocate_;
  const size_t slot_bytes_;
  const int64_t ahead_;
  const uint64_t may_hold_;
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

}  // namespace stoker
