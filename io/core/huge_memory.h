#pragma once

#include <cstddef>

#include "io/core/memory.h"

namespace stoker {

// Ordinary memory, aligned to 64 bytes, from 4096 bytes on to those (as direct I/O wants it), and
// from 2 MiB on to those and on huge pages where the kernel has them. touch: it is zeroed and so
// faulted in; else whoever writes first pays for it. Any thread. Throws std::bad_alloc.
HostMemory allocate_huge(size_t bytes, bool touch);

}  // namespace stoker
