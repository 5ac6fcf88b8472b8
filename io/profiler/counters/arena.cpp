#include "io/profiler/counters/arena.h"

#include <sys/mman.h>

#include <string>

#include "io/core/error.h"
#include "io/core/system/memory.h"

namespace stoker {
namespace {

std::byte* reserve(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ExitCode::environment, "I/O profiler: no address space for " +
                                           std::to_string(bytes) +
                                           " bytes of records; give it less memory");
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace

Arena::Arena(size_t bytes) : bytes_(bytes), memory_(reserve(bytes)) {}

Arena::~Arena() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

void* Arena::allocate(size_t bytes) {
  size_t used = used_.load(std::memory_order_relaxed);
  size_t next = 0;
  do {
    if (bytes > bytes_ - used) return nullptr;
    next = static_cast<size_t>(rounded_up(used + bytes, kAlignment));
    if (next > bytes_) next = bytes_;
  } while (!used_.compare_exchange_weak(used, next, std::memory_order_relaxed));
  return memory_ + used;
}

}  // namespace stoker
