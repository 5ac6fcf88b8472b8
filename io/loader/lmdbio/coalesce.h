#pragma once

#include <cstdint>

namespace stoker {

// How many batches a reader gets by one read where it is left to us: as many as 4 MiB hold, rounded
// up to a power of two, but no more than an epoch has. LMDBIO's rule. Pure; any thread.
int64_t coalesced_batches(uint64_t bytes_per_batch_and_reader, int64_t batches);

}  // namespace stoker
