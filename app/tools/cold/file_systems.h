#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace stoker {

// What this machine's page cache says about the files of a file system.
enum class CacheKind {
  here,    // all there is: what is not cached is read from a device
  memory,  // the memory is the file: it is never cold
  behind,  // something behind it may have cached them, which cannot be seen from here
};

// A file system, as far as it matters for what is cold. A value.
struct FileSystem {
  std::string type;  // as /proc/mounts has it
  CacheKind kind = CacheKind::here;
  std::string why = {};  // it is not `here`
};

// By the type and the first column of /proc/mounts. Pure; any thread.
FileSystem judge_file_system(const std::string& type, const std::string& source);

// The file systems of this process, as they were when it was made. One thread.
class FileSystems {
 public:
  FileSystems();
  // That of an open file. Where the table does not have its device (btrfs), the kernel's number of
  // the type is what it is called.
  const FileSystem& of(int file, uint64_t device);

 private:
  std::map<uint64_t, FileSystem> by_device_;
};

// A file as the kernel tells it: device and inode number.
using FileNumber = std::pair<uint64_t, uint64_t>;

// Which process has mapped which file: "python3 (4711)", one of them where there are several.
// Processes that this user may not look at are left out. Reads /proc; any thread.
std::map<FileNumber, std::string> mapped_files();

}  // namespace stoker
