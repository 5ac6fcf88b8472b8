#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "app/base/process_use.h"

// glibc's own names of what is replaced here: no look-up, which would itself allocate.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void* __memcpy_chk(void* to, const void* from, size_t size, size_t room);
void* __memmove_chk(void* to, const void* from, size_t size, size_t room);
}

namespace {

std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> libjpeg_allocations{0};
std::atomic<uint64_t> bytes_moved{0};

// The code of libjpeg, or of libturbojpeg, which contains it.
struct Code {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
} libjpeg;

int find_libjpeg(dl_phdr_info* object, size_t, void*) {
  if (std::strstr(object->dlpi_name, "jpeg.so") == nullptr) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    libjpeg.begin = object->dlpi_addr + part.p_vaddr;
    libjpeg.end = libjpeg.begin + part.p_memsz;
    return 1;
  }
  return 0;
}

__attribute__((constructor)) void find_code() { dl_iterate_phdr(find_libjpeg, nullptr); }

void count(const void* caller) {
  const auto from = reinterpret_cast<uintptr_t>(caller);
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (from >= libjpeg.begin && from < libjpeg.end) {
    libjpeg_allocations.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

extern "C" {

void stoker::stoker_counted_calls(stoker::CallCounts* out) {
  *out = {allocations, libjpeg_allocations, bytes_moved};
}

void* malloc(size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}

void* calloc(size_t number, size_t size) {
  count(__builtin_return_address(0));
  return __libc_calloc(number, size);
}

void* realloc(void* old, size_t size) {
  count(__builtin_return_address(0));
  return __libc_realloc(old, size);
}

void* memalign(size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  void* memory = __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}

void* memcpy(void* to, const void* from, size_t size) {
  bytes_moved.fetch_add(size, std::memory_order_relaxed);
  return __memcpy_chk(to, from, size, SIZE_MAX);
}

void* memmove(void* to, const void* from, size_t size) {
  bytes_moved.fetch_add(size, std::memory_order_relaxed);
  return __memmove_chk(to, from, size, SIZE_MAX);
}
}
