#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/storage/file_tree.h"

namespace stoker {

// How much of some files is in the page cache, at the moment of asking. A value.
struct Residency {
  int64_t files = 0;  // those that the other two figures are about
  uint64_t bytes = 0;
  uint64_t cached_bytes = 0;

  // The share of the bytes that are cached. Absent: nothing is known about any byte.
  std::optional<double> cached_share() const {
    if (bytes == 0) return std::nullopt;
    return static_cast<double>(cached_bytes) / static_cast<double>(bytes);
  }
};

// `keys`: paths below the root of `tree`. The files are looked at past the layers of the tree, so
// that an emulated tier is not charged, and nothing is read. Left out are: what cannot be opened,
// is not a regular file, or lies in a file system without a page cache; and files that the caller
// neither owns nor may write, where the kernel tells the truth about those only (all before 6.5,
// and those that check it since). Throws nothing. Any thread.
Residency page_cache_residency(const FileTree& tree, std::span<const std::string> keys);

// Asks the kernel to forget what it has cached of these files, and of no others, and says what it
// still has: 0 cached bytes are proof, fewer files than keys mean that some could not be looked at.
// Dirty pages are written to the device first, for the kernel would keep them; so it keeps what
// others have mapped, and all of tmpfs, whose memory is the file. Past the layers of the tree.
// IoError where a file's bytes cannot be written. Any thread.
Residency evict(const FileTree& tree, std::span<const std::string> keys);

// How many of the bytes of an open file of `bytes` bytes are cached, by the first of the two ways
// below that answers. Absent: none does. Any thread.
std::optional<uint64_t> cached_bytes(int file, uint64_t bytes);

// Some bytes of a file, from `begin` to before `end`.
struct CachedRange {
  uint64_t begin = 0, end = 0;
};
// Which of its bytes are cached, rising and as few ranges as possible. Absent: as above. Any
// thread.
std::optional<std::vector<CachedRange>> cached_ranges(int file, uint64_t bytes);

// Writes the dirty pages of an open file, then asks the kernel to forget all of it. `path` is for
// the message. IoError where the bytes cannot be written. Any thread.
void evict_pages(int file, const std::string& path);

// Writes all dirty pages of the machine, then drops its whole page cache, directory entries and
// inodes. False where that is not allowed (only root may, and containers mount /proc read-only):
// then nothing was dropped. `control` is for tests. Never asks anybody for a password. Any thread.
bool drop_page_cache(const std::string& control = "/proc/sys/vm/drop_caches");

// The two ways to ask, for an open file of `bytes` bytes. Absent: the answer is not available this
// way.
//
// cachestat(2), Linux 6.5. Not on overlayfs, where it sees none of the pages below.
std::optional<uint64_t> cached_bytes_by_cachestat(int file, uint64_t bytes);
// mincore(2). Absent for a file that the caller neither owns nor may write, because the kernel then
// calls all of it cached.
std::optional<uint64_t> cached_bytes_by_mincore(int file, uint64_t bytes);

}  // namespace stoker
