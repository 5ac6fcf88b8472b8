#include "io/profiler/counters/arena.h"

#include <sys/mman.h>

namespace stoker {

Arena::Arena(std::byte* memory, size_t bytes, Ready ready)
    : bytes_(bytes), memory_(memory), ready_(ready) {}

Arena::~Arena() {
  if (memory_ != nullptr && ready_ == nullptr) ::munmap(memory_, bytes_);
}

void* Arena::allocate(size_t bytes) {
  size_t used = used_.load(std::memory_order_relaxed);
  size_t next = 0;
  do {
    if (bytes > bytes_ - used) return nullptr;
    next = (used + bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (next > bytes_) next = bytes_;
    if (ready_ != nullptr && !ready_(memory_, next)) return nullptr;
  } while (!used_.compare_exchange_weak(used, next, std::memory_order_relaxed));
  return memory_ + used;
}

}  // namespace stoker
