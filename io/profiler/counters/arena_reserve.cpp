#include <sys/mman.h>

#include <string>

#include "io/core/error.h"
#include "io/profiler/counters/arena.h"

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

}  // namespace stoker
