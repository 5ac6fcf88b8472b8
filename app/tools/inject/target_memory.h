#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/system/file.h"

namespace stoker {

// A line of /proc/PID/maps. A value.
struct TargetMapping {
  uint64_t begin = 0, end = 0;
  bool executable = false;
  uint64_t offset = 0;
  std::string path;  // empty: anonymous

  bool has(uint64_t address) const { return address >= begin && address < end; }
};

// The mappings of a process. Error(ExitCode::environment) where it has ended, or may not be looked
// at by this user.
std::vector<TargetMapping> target_mappings(pid_t pid);

// The memory of another process, through /proc/PID/mem, whether or not it is being traced. One
// thread.
class TargetMemory {
 public:
  // Error(ExitCode::environment) as above.
  explicit TargetMemory(pid_t pid);
  // False: not all of it is there.
  bool read(uint64_t address, void* to, size_t bytes) const;
  bool write(uint64_t address, const void* from, size_t bytes) const;
  template <class T>
  std::optional<T> get(uint64_t address) const {
    T value;
    if (!read(address, &value, sizeof value)) return std::nullopt;
    return value;
  }

 private:
  FileDescriptor file_;
};

// The error for a process that may not be looked at, or has ended: says whose it is, and what
// forbids it.
[[noreturn]] void refuse_target(pid_t pid, int error);

}  // namespace stoker
