#include "app/run/malloc_tuning.h"

#include <c10/core/CPUAllocator.h>
#include <malloc.h>

#include <cstdlib>
#include <new>

namespace stoker {
namespace {

constexpr size_t kAlignment = 64;  // as LibTorch's own allocator has it

// The block that malloc gave begins at most kAlignment bytes before the tensor's memory. Its
// address lies in front of that memory, for malloc aligns to 16 bytes.
void* allocate_tensor(size_t bytes) {
  auto* const block = static_cast<std::byte*>(std::malloc(bytes + kAlignment));
  if (block == nullptr) throw std::bad_alloc();
  const size_t past = reinterpret_cast<uintptr_t>(block) % kAlignment;
  std::byte* const memory = block + (kAlignment - past);
  reinterpret_cast<void**>(memory)[-1] = block;
  return memory;
}

void free_tensor(void* memory) {
  if (memory != nullptr) std::free(static_cast<void**>(memory)[-1]);
}

class TensorAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const memory = bytes == 0 ? nullptr : allocate_tensor(bytes);
    return {memory, memory, &free_tensor, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_tensor; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

void keep_freed_heap() {
#ifdef __GLIBC__
  // Without these, each large block is a mapping of its own, which goes back to the kernel when the
  // block is freed, and the top of the heap is trimmed.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

void reuse_freed_tensors() {
  static TensorAllocator allocator;
  c10::SetCPUAllocator(&allocator);
}

}  // namespace stoker
