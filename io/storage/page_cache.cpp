#include "io/storage/page_cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/storage/file_reads.h"

namespace stoker {
namespace {

// <linux/mman.h> has these since 6.5; the headers may be older than the kernel.
constexpr long kCachestat = 451;
struct CachestatRange {
  uint64_t offset;
  uint64_t length;
};
struct Cachestat {
  uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

bool on_overlay(int file) {
  struct statfs status {};
  return ::fstatfs(file, &status) != 0 ||
         static_cast<uint64_t>(status.f_type) == OVERLAYFS_SUPER_MAGIC;
}

bool owned_or_writable(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return false;
  if (status.st_uid == ::geteuid()) return true;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

// Pages of the file in [offset, offset + length) that are cached.
std::optional<uint64_t> cached_pages(int file, uint64_t offset, uint64_t length) {
  void* const address =
      ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset));
  if (address == MAP_FAILED) return std::nullopt;
  const auto unmap = [length](void* mapped) { ::munmap(mapped, length); };
  const std::unique_ptr<void, decltype(unmap)> mapping(address, unmap);
  std::vector<unsigned char> pages(rounded_up(length, page_size()) / page_size());
  if (::mincore(address, length, pages.data()) != 0) return std::nullopt;
  return std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
}

// A regular file that is open for reading, or nothing.
FileDescriptor open_regular(const std::string& path, struct stat& status) {
  // O_NONBLOCK: a pipe in the way must not hold us up.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

}  // namespace

std::optional<uint64_t> cached_bytes_by_cachestat(int file, uint64_t bytes) {
  if (bytes == 0) return 0;
  if (on_overlay(file)) return std::nullopt;
  CachestatRange range{0, bytes};
  Cachestat result{};
  if (::syscall(kCachestat, file, &range, &result, 0u) != 0) return std::nullopt;
  return std::min(result.cached * page_size(), bytes);
}

std::optional<uint64_t> cached_bytes_by_mincore(int file, uint64_t bytes) {
  constexpr uint64_t kWindow = 1ull << 30;  // a quarter of a million pages
  if (!owned_or_writable(file)) return std::nullopt;
  uint64_t total = 0;
  for (uint64_t offset = 0; offset < bytes; offset += kWindow) {
    const auto pages = cached_pages(file, offset, std::min(kWindow, bytes - offset));
    if (!pages) return std::nullopt;
    total += *pages * page_size();
  }
  return std::min(total, bytes);
}

Residency page_cache_residency(const FileTree& tree, std::span<const std::string> keys) {
  Residency residency;
  for (const std::string& key : keys) {
    struct stat status {};
    const FileDescriptor file = open_regular(tree.full(key), status);
    if (!file) continue;
    const auto bytes = static_cast<uint64_t>(status.st_size);
    auto cached = cached_bytes_by_cachestat(file.get(), bytes);
    if (!cached) cached = cached_bytes_by_mincore(file.get(), bytes);
    if (!cached) continue;
    ++residency.files;
    residency.bytes += bytes;
    residency.cached_bytes += *cached;
  }
  return residency;
}

Residency evict(const FileTree& tree, std::span<const std::string> keys) {
  for (const std::string& key : keys) {
    const std::string path = tree.full(key);
    struct stat status {};
    const FileDescriptor file = open_regular(path, status);
    if (!file) continue;
    // EINVAL, EROFS: a file system that has nothing to write.
    if (::fdatasync(file.get()) != 0 && errno != EINVAL && errno != EROFS) {
      throw_errno("sync", path, errno);
    }
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  return page_cache_residency(tree, keys);
}

bool drop_page_cache(const std::string& control) {
  const FileDescriptor file(::open(control.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return false;
  ::sync();
  return ::write(file.get(), "3\n", 2) == 2;
}

}  // namespace stoker
