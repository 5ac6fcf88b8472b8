#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace stoker {
inline constexpr size_t kPage = 4096;  // of memory, on x86-64
}

namespace stoker::raw {

// System calls without libc's functions, which are wrapped. They set errno, as syscall(2) does. Any
// thread, also in the child of a fork.

inline int open(const char* path, int flags, mode_t mode = 0) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}
inline int close(int fd) { return static_cast<int>(::syscall(SYS_close, fd)); }
inline ssize_t write_at(int fd, const void* from, size_t bytes, off_t at) {
  return ::syscall(SYS_pwrite64, fd, from, bytes, at);
}
inline ssize_t read_link(int directory, const char* path, char* to, size_t bytes) {
  return ::syscall(SYS_readlinkat, directory, path, to, bytes);
}
inline void* map(size_t bytes, int fd) {
  // The kernel's answer is an address.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_NORESERVE, fd, 0));
}
inline void unmap(void* memory, size_t bytes) { ::syscall(SYS_munmap, memory, bytes); }

inline int64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace stoker::raw
