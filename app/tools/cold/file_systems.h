#pragma once

#include <cstdint>
#include <map>
#include <string>

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

}  // namespace stoker
