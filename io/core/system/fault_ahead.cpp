#include "io/core/system/fault_ahead.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace stoker {
namespace {

// The page size of x86-64, and of most kernels on AArch64.
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

FaultAhead::FaultAhead(std::vector<std::span<uint8_t>> memory)
    : thread_([memory = std::move(memory)](const std::stop_token& done) {
        pthread_setname_np(pthread_self(), "fault-ahead");
        for (const std::span<uint8_t> block : memory) {
          for (size_t at = 0; at < block.size() && !done.stop_requested(); at += kHugePage) {
            const size_t bytes = std::min(kHugePage, block.size() - at);
            ::madvise(block.data() + at, bytes, MADV_POPULATE_WRITE);
          }
        }
      }) {}

}  // namespace stoker
