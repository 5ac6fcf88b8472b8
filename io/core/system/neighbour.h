#pragma once

#include <sys/types.h>

#include <string>

#include "io/core/system/file.h"

namespace stoker {

// Where a process runs, as another one can tell whether it could watch it: "BOOT/NAMESPACE/PID".
std::string place_of(pid_t process);

// A process of this machine that is watched: its end is known at once, however it came. Nothing is
// ever known about a process that runs elsewhere, in another container, or on a kernel without
// pidfd_open. One thread at a time.
class Neighbour {
 public:
  // place: what place_of() said in that process.
  explicit Neighbour(const std::string& place);

  bool ended() const;

 private:
  bool ended_ = false;
  FileDescriptor process_;
};

}  // namespace stoker
