#include "io/core/system/fault_ahead.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace stoker {
namespace {

// So much is faulted in by one call: a huge page of x86-64.
constexpr size_t kAtOnce = size_t{2} << 20;

}  // namespace

FaultAhead::FaultAhead(std::vector<std::span<uint8_t>> memory)
    : thread_([memory = std::move(memory)](const std::stop_token& done) {
        pthread_setname_np(pthread_self(), "fault-ahead");
        for (const std::span<uint8_t> block : memory) {
          for (size_t at = 0; at < block.size() && !done.stop_requested(); at += kAtOnce) {
            const size_t bytes = std::min(kAtOnce, block.size() - at);
            ::madvise(block.data() + at, bytes, MADV_POPULATE_WRITE);
          }
        }
      }) {}

}  // namespace stoker
