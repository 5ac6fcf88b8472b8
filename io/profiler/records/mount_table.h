#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/profiler/profile.h"

namespace stoker {

// The file systems of this process that Darshan would list: not those of the system itself (proc,
// tmpfs, ...). Any thread.
class MountTable {
 public:
  // The mounts that the file `table` lists now. If the root is not among them, it is added, of type
  // "unknown".
  explicit MountTable(const char* table = "/proc/self/mounts");
  // The block size of the file system on which `path` lies, which Darshan takes for the alignment
  // of its files: 1 MiB on Lustre, 4096 where it does not say, -1 of no path. A file system is
  // asked when a file of its own is, so that one that hangs holds up nobody else.
  int64_t block_bytes(std::string_view path) const;
  std::vector<IoProfile::Mount> list() const;

 private:
  struct Entry {
    IoProfile::Mount mount;
    mutable std::atomic<int64_t> block_bytes{0};  // 0: not asked yet
  };
  std::vector<std::unique_ptr<Entry>> entries_;  // the longest path first
};

}  // namespace stoker
