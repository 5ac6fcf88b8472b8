#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Preloaded into a program: when it ends, the file ALIGNED_BLOCKS says how often LibTorch's own
// allocator of tensors, which lies in libc10, has asked for an aligned block.

namespace {

std::atomic<long> g_calls{0};

bool is_tensors(const void* caller) {
  Dl_info from{};
  return ::dladdr(caller, &from) != 0 && std::strstr(from.dli_fname, "libc10.so") != nullptr;
}

struct Report {
  ~Report() {
    const char* const path = std::getenv("ALIGNED_BLOCKS");
    std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) return;
    std::fprintf(file, "%ld\n", g_calls.load());
    std::fclose(file);
  }
} g_report;

}  // namespace

extern "C" int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  using Real = int (*)(void**, size_t, size_t);
  static const auto real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "posix_memalign"));
  if (is_tensors(__builtin_return_address(0))) ++g_calls;
  return real(memory, alignment, size);
}
