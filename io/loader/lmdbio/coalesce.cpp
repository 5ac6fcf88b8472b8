#include "io/loader/lmdbio/coalesce.h"

#include <algorithm>
#include <bit>

namespace stoker {

int64_t coalesced_batches(uint64_t bytes_per_batch_and_reader, int64_t batches) {
  constexpr uint64_t kBytes = uint64_t{4} << 20;
  const uint64_t bytes = std::max<uint64_t>(bytes_per_batch_and_reader, 1);
  const uint64_t wanted = std::bit_ceil((kBytes - 1) / bytes + 1);
  const auto most = static_cast<uint64_t>(std::max<int64_t>(batches, 1));
  return static_cast<int64_t>(std::min(wanted, most));
}

}  // namespace stoker
