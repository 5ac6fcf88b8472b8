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

// A byte for each page of the file in [offset, offset + length): its lowest bit says whether the
// page is cached.
std::optional<std::vector<unsigned char>> page_states(int file, uint64_t offset, uint64_t length) {
  void* const address =
      ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset));
  if (address == MAP_FAILED) return std::nullopt;
  const auto unmap = [length](void* mapped) { ::munmap(mapped, length); };
  const std::unique_ptr<void, decltype(unmap)> mapping(address, unmap);
  std::vector<unsigned char> pages(rounded_up(length, page_size()) / page_size());
  if (::mincore(address, length, pages.data()) != 0) return std::nullopt;
  return pages;
}

// Calls each(offset of the first page, states of pages) for one part of the file after the other.
template <class Each>
bool each_window(int file, uint64_t bytes, const Each& each) {
  constexpr uint64_t kWindow = 1ull << 30;  // a quarter of a million pages
  if (!owned_or_writable(file)) return false;
  for (uint64_t offset = 0; offset < bytes; offset += kWindow) {
    const auto pages = page_states(file, offset, std::min(kWindow, bytes - offset));
    if (!pages) return false;
    each(offset, *pages);
  }
  return true;
}

// Pages of the file in the range, by cachestat(2).
std::optional<uint64_t> pages_in(int file, CachedRange range) {
  CachestatRange asked{range.begin, range.end - range.begin};
  Cachestat result{};
  if (::syscall(kCachestat, file, &asked, &result, 0u) != 0) return std::nullopt;
  return result.cached;
}

void add_range(std::vector<CachedRange>& ranges, CachedRange range) {
  if (!ranges.empty() && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

// Halves the range until a part is cached as a whole or not at all. False: the kernel does not say.
bool ranges_by_cachestat(int file, CachedRange range, std::vector<CachedRange>& ranges) {
  const auto cached = pages_in(file, range);
  if (!cached) return false;
  const uint64_t pages = rounded_up(range.end - range.begin, page_size()) / page_size();
  if (*cached == 0) return true;
  if (*cached >= pages || pages == 1) {
    add_range(ranges, range);
    return true;
  }
  const uint64_t middle = range.begin + pages / 2 * page_size();
  return ranges_by_cachestat(file, {range.begin, middle}, ranges) &&
         ranges_by_cachestat(file, {middle, range.end}, ranges);
}

// A regular file that is open for reading, or nothing.
FileDescriptor open_quietly(const std::string& path, struct stat& status) {
  // O_NONBLOCK: a pipe in the way must not hold us up.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

}  // namespace

std::optional<uint64_t> cached_bytes_by_cachestat(int file, uint64_t bytes) {
  if (bytes == 0) return 0;
  if (on_overlay(file)) return std::nullopt;
  const auto pages = pages_in(file, {0, bytes});
  if (!pages) return std::nullopt;
  return std::min(*pages * page_size(), bytes);
}

std::optional<uint64_t> cached_bytes_by_mincore(int file, uint64_t bytes) {
  uint64_t total = 0;
  const bool told = each_window(file, bytes, [&](uint64_t, const auto& pages) {
    total += std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
  });
  if (!told) return std::nullopt;
  return std::min(total * page_size(), bytes);
}

std::optional<uint64_t> cached_bytes(int file, uint64_t bytes) {
  const auto cached = cached_bytes_by_cachestat(file, bytes);
  return cached ? cached : cached_bytes_by_mincore(file, bytes);
}

std::optional<std::vector<CachedRange>> cached_ranges(int file, uint64_t bytes) {
  std::vector<CachedRange> ranges;
  if (bytes == 0) return ranges;
  const bool told = each_window(file, bytes, [&](uint64_t offset, const auto& pages) {
    for (size_t i = 0; i < pages.size(); ++i) {
      const uint64_t begin = offset + i * page_size();
      if ((pages[i] & 1) != 0) add_range(ranges, {begin, std::min(begin + page_size(), bytes)});
    }
  });
  if (told) return ranges;
  ranges.clear();
  if (on_overlay(file) || !ranges_by_cachestat(file, {0, bytes}, ranges)) return std::nullopt;
  return ranges;
}

void evict_pages(int file, const std::string& path) {
  // EINVAL, EROFS: a file system that has nothing to write.
  if (::fdatasync(file) != 0 && errno != EINVAL && errno != EROFS) {
    throw_errno("sync", path, errno);
  }
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

Residency page_cache_residency(const FileTree& tree, std::span<const std::string> keys) {
  Residency residency;
  for (const std::string& key : keys) {
    struct stat status {};
    const FileDescriptor file = open_quietly(tree.full(key), status);
    if (!file) continue;
    const auto bytes = static_cast<uint64_t>(status.st_size);
    const auto cached = cached_bytes(file.get(), bytes);
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
    const FileDescriptor file = open_quietly(path, status);
    if (!file) continue;
    evict_pages(file.get(), path);
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
