#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <vector>

namespace stoker {

// A system call that a thread waits in, or has just made. A value.
struct SystemCall {
  int64_t number = -1;
  std::array<uint64_t, 3> arguments{};
};

// Whether a thread that makes this call through the C library holds none of its locks, so that it
// can be made to load a library: neither the allocator nor the loader make such calls. waiting: it
// sits in the call; a file is not read by waiting. Reads /proc for what a descriptor is.
bool is_harmless(pid_t pid, const SystemCall& call, bool waiting);

// The threads of a process, those first that wait in a harmless call now. Empty: it has ended.
std::vector<pid_t> threads_by_harmlessness(pid_t pid);

}  // namespace stoker
