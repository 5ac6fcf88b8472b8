#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// memcpy for what the calling thread does not read again soon (a sample on its way into a batch):
// long blocks are written past the caches, from four pages at once, so that memory is neither read
// before it is overwritten nor waited for page by page. The bytes are visible to whoever
// synchronises with this thread afterwards, as with memcpy. Any thread.
void stream_copy(uint8_t* to, const uint8_t* from, size_t bytes);

}  // namespace stoker
