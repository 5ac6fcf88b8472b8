#include <liburing.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "io/profiler/wrap/uring_watch.h"
#include "io/profiler/wrap/wrapped_functions.h"
#include "io/profiler/wrap/wrapper.h"

// Calls of liburing that go through its slots. What its header does inline, taking a completion
// that is there already above all, is seen at the next of these.

namespace stoker {
namespace {

// The rings that were met, by their address.
class UringWatches {
 public:
  // A ring begins or ends: what was remembered of the one at its address is stale.
  void forget(const io_uring* ring) {
    Shard& shard = shard_of(ring);
    const std::lock_guard lock(shard.mutex);
    shard.rings.erase(ring);
  }

  template <class Use>
  void with(const io_uring* ring, const Use& use) {
    Shard& shard = shard_of(ring);
    const std::lock_guard lock(shard.mutex);
    const uint32_t period = counting_period;
    auto found = shard.rings.find(ring);
    if (found != shard.rings.end() && found->second.period != period) {
      shard.rings.erase(found);
      found = shard.rings.end();
    }
    if (found == shard.rings.end()) {
      found = shard.rings.emplace(ring, Known{UringWatch(*ring, next_++), period}).first;
    }
    use(found->second.watch);
  }

 private:
  struct Known {
    UringWatch watch;
    uint32_t period;
  };
  // Rings of different threads seldom share one.
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<const io_uring*, Known> rings;
  };

  Shard& shard_of(const io_uring* ring) {
    return shards_[std::hash<const io_uring*>()(ring) / 64 % shards_.size()];
  }

  std::array<Shard, 64> shards_;
  std::atomic<uint32_t> next_{0};
};

UringWatches& uring_watches() {
  static UringWatches& all = *std::make_unique<UringWatches>().release();
  return all;
}

void tell_completions(const io_uring* ring) {
  uring_watches().with(ring, [&](UringWatch& watch) { watch.completes(*ring); });
}

// The ring is the first argument of all of these.
struct UringSubmit {
  template <class... More>
  static bool before(io_uring* ring, More...) {
    uring_watches().with(ring, [&](UringWatch& watch) {
      watch.completes(*ring);
      watch.submits(*ring);
    });
    return true;
  }
  template <class... More>
  static void tell(int, CallTime, io_uring* ring, More...) {
    tell_completions(ring);
  }
};

struct UringWait {
  template <class... More>
  static bool before(io_uring* ring, More...) {
    tell_completions(ring);
    return true;
  }
  template <class Result, class... More>
  static void tell(Result, CallTime, io_uring* ring, More...) {
    tell_completions(ring);
  }
};

struct UringExit {
  static bool before(io_uring* ring) {
    tell_completions(ring);
    return true;
  }
  static void tell(CallTime, io_uring* ring, bool) { uring_watches().forget(ring); }
};

// io_uring_queue_init and its like: the ring is the second or the third argument.
struct UringInit {
  template <class... More>
  static void tell(int, CallTime, unsigned, io_uring* ring, More...) {
    uring_watches().forget(ring);
  }
  static void tell(int, CallTime, int, io_uring_params*, io_uring* ring) {
    uring_watches().forget(ring);
  }
};

using Cqe = io_uring_cqe;
using Timeout = __kernel_timespec;

}  // namespace

void add_uring_calls(WrappedFunctions& functions) {
  static constexpr const char* kLibrary = "liburing.so";
  for (const WrappedFunction& function : {
           Wrapper<"io_uring_submit", UringSubmit, int(io_uring*)>::function(kLibrary),
           Wrapper<"io_uring_submit_and_wait", UringSubmit, int(io_uring*, unsigned)>::function(
               kLibrary),
           Wrapper<"io_uring_submit_and_wait_timeout", UringSubmit,
                   int(io_uring*, Cqe**, unsigned, Timeout*, sigset_t*)>::function(kLibrary),
           Wrapper<"io_uring_submit_and_get_events", UringSubmit, int(io_uring*)>::function(
               kLibrary),
           Wrapper<"io_uring_submit_and_wait_min_timeout", UringSubmit,
                   int(io_uring*, Cqe**, unsigned, Timeout*, unsigned,
                       sigset_t*)>::function(kLibrary),
           Wrapper<"io_uring_submit_and_wait_reg", UringSubmit,
                   int(io_uring*, Cqe**, unsigned, int)>::function(kLibrary),
           Wrapper<"__io_uring_get_cqe", UringWait,
                   int(io_uring*, Cqe**, unsigned, unsigned, sigset_t*)>::function(kLibrary),
           Wrapper<"io_uring_wait_cqes", UringWait,
                   int(io_uring*, Cqe**, unsigned, Timeout*, sigset_t*)>::function(kLibrary),
           Wrapper<"io_uring_wait_cqes_min_timeout", UringWait,
                   int(io_uring*, Cqe**, unsigned, Timeout*, unsigned,
                       sigset_t*)>::function(kLibrary),
           Wrapper<"io_uring_wait_cqe_timeout", UringWait,
                   int(io_uring*, Cqe**, Timeout*)>::function(kLibrary),
           Wrapper<"io_uring_peek_batch_cqe", UringWait,
                   unsigned(io_uring*, Cqe**, unsigned)>::function(kLibrary),
           Wrapper<"io_uring_get_events", UringWait, int(io_uring*)>::function(kLibrary),
           Wrapper<"io_uring_queue_init", UringInit, int(unsigned, io_uring*, unsigned)>::function(
               kLibrary),
           Wrapper<"io_uring_queue_init_params", UringInit,
                   int(unsigned, io_uring*, io_uring_params*)>::function(kLibrary),
           Wrapper<"io_uring_queue_init_mem", UringInit,
                   int(unsigned, io_uring*, io_uring_params*, void*, size_t)>::function(kLibrary),
           Wrapper<"io_uring_queue_mmap", UringInit,
                   int(int, io_uring_params*, io_uring*)>::function(kLibrary),
           Wrapper<"io_uring_queue_exit", UringExit, void(io_uring*)>::function(kLibrary),
       }) {
    functions.push_back(function);
  }
}

}  // namespace stoker
