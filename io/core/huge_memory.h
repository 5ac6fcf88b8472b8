#pragma once

#include <cstddef>

#include "io/core/memory.h"

namespace stoker {

// Ordinary memory that is not pinned. Aligned to 64 bytes; from 4096 bytes on to 4096 (as direct
// I/O wants it); from 2 MiB on to 2 MiB, and on huge pages where the kernel has them. Alignment
// rounds the allocation up, HostMemory::bytes is what was asked for.
//
// touch: the memory is zeroed and so faulted in; otherwise the first writer pays for the page
// faults. Any thread. Throws std::bad_alloc.
HostMemory allocate_huge(size_t bytes, bool touch);

}  // namespace stoker
