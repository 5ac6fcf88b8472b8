#include "app/train/malloc_tuning.h"

#include <malloc.h>

namespace stoker {

void keep_freed_heap() {
#ifdef __GLIBC__
  // Memory of its own for each large block is given back when the block is freed.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

}  // namespace stoker
