#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// memcpy for what the calling thread does not read again soon (a sample on its way into a batch).
// Blocks of 32 KiB and more are written past the caches with AVX2, from four pages at once, so that
// memory is neither read before it is overwritten nor waited for page by page. Shorter ones, and
// machines without AVX2, take memcpy.
//
// next: what the thread reads after this, `bytes` long; it is fetched into the cache meanwhile, so
// that memory is read and written at the same time. May be null.
//
// The ranges must not overlap. The bytes are visible to whoever synchronises with this thread
// afterwards, as with memcpy. Any thread; never throws.
void stream_copy(uint8_t* to, const uint8_t* from, size_t bytes, const uint8_t* next = nullptr);

}  // namespace stoker
