#include "io/core/system/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace stoker {
namespace {

constexpr size_t kSmallPage = 4096;
constexpr size_t kHugePage = 2u << 20;

}  // namespace

HostMemory allocate_huge(size_t bytes, bool touch) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : bytes >= kSmallPage ? kSmallPage : 64;
  const size_t size = rounded_up(bytes == 0 ? 1 : bytes, alignment);
  void* memory = std::aligned_alloc(alignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  if (touch) std::memset(memory, 0, size);
  return {std::shared_ptr<uint8_t>(static_cast<uint8_t*>(memory), std::free), bytes, false};
}

}  // namespace stoker
