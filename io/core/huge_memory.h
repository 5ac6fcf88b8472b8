#pragma once

#include <cstddef>

#include "io/core/memory.h"

namespace stoker {

// Ordinary memory, aligned to 64 bytes, and to 2 MiB and on huge pages (where the kernel has them)
// from that size on. touch: it is zeroed and so faulted in; else whoever writes first pays for it.
// Any thread. Throws std::bad_alloc.
HostMemory allocate_huge(size_t bytes, bool touch);

}  // namespace stoker
