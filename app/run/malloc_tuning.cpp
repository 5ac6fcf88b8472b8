#include "app/run/malloc_tuning.h"

#include <malloc.h>

namespace stoker {

void keep_freed_heap() {
#ifdef __GLIBC__
  // Without these, each large block is a mapping of its own, which goes back to the kernel when the
  // block is freed, and the top of the heap is trimmed.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

}  // namespace stoker
