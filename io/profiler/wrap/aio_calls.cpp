#include <aio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "io/profiler/wrap/wrapped_functions.h"
#include "io/profiler/wrap/wrapper.h"

// Requests of POSIX's asynchronous I/O: they begin where they are enqueued, and are told where
// aio_return() says how they ended, as in Darshan.

namespace stoker {
namespace {

static_assert(sizeof(aiocb) == sizeof(aiocb64), "the names of 64 bits take the same");

// When requests that are under way began, by their control blocks. aio_return() may be called by a
// signal handler, so there is no lock and no allocation: a request looks for a free place among
// some, and is not remembered if none of them is free.
class RequestTimes {
 public:
  void began(const void* request, int64_t ns) {
    forget(request);  // it was enqueued before, and nobody asked
    const uint32_t period = counting_period;
    for (size_t i = 0; i < kProbes; ++i) {
      Place& place = place_at(request, i);
      const void* found = place.request.load(std::memory_order_relaxed);
      const bool free =
          found == nullptr ||
          (found != &kTaken && place.period.load(std::memory_order_relaxed) != period);
      if (!free || !place.request.compare_exchange_strong(found, &kTaken)) continue;
      place.begin_ns.store(ns, std::memory_order_relaxed);
      place.period.store(period, std::memory_order_relaxed);
      place.request.store(request, std::memory_order_release);
      return;
    }
  }

  // Nothing: it is not known, or began before counting did.
  std::optional<int64_t> forget(const void* request) {
    for (size_t i = 0; i < kProbes; ++i) {
      Place& place = place_at(request, i);
      const void* found = request;
      if (place.request.load(std::memory_order_acquire) != request) continue;
      const int64_t ns = place.begin_ns.load(std::memory_order_relaxed);
      const bool stale = place.period.load(std::memory_order_relaxed) != counting_period;
      if (!place.request.compare_exchange_strong(found, nullptr)) continue;
      if (!stale) return ns;
    }
    return std::nullopt;
  }

 private:
  struct Place {
    std::atomic<const void*> request{nullptr};
    std::atomic<int64_t> begin_ns{0};
    std::atomic<uint32_t> period{0};
  };
  static constexpr size_t kPlaces = 4096, kProbes = 64;
  static constexpr char kTaken = 0;  // its address: somebody writes the place

  Place& place_at(const void* request, size_t probe) {
    return places_[(std::hash<const void*>()(request) / 64 + probe) % kPlaces];
  }

  std::array<Place, kPlaces> places_;
};

constinit RequestTimes request_times;

struct AioEnqueue {
  static bool before(aiocb* request) {
    request_times.began(request, call_clock_ns());
    return true;
  }
  static void tell(int result, CallTime, aiocb* request, bool) {
    if (result != 0) request_times.forget(request);
  }
};

// Where it fails, some of the requests may be under way all the same.
struct AioEnqueueList {
  static bool before(int, aiocb* const* requests, int count, sigevent*) {
    const int64_t now = call_clock_ns();
    for (int i = 0; i < count; ++i) {
      if (requests[i] != nullptr && requests[i]->aio_lio_opcode != LIO_NOP) {
        request_times.began(requests[i], now);
      }
    }
    return true;
  }
  static void tell(int, CallTime, int, aiocb* const*, int, sigevent*, bool) {}
};

struct AioReturn {
  static void tell(ssize_t result, CallTime time, aiocb* request) {
    const std::optional<int64_t> begin_ns = request_times.forget(request);
    if (!begin_ns || result < 0) return;
    const CallTime whole{*begin_ns, time.end_ns};
    const void* const memory = const_cast<const void*>(request->aio_buf);
    // glibc writes down which of the two was called, and marks the names of 64 bits.
    constexpr int kOperation = 127;
    if ((request->aio_lio_opcode & kOperation) == LIO_WRITE) {
      recorder().wrote(request->aio_fildes, result, request->aio_offset, memory, whole);
    } else {
      recorder().read(request->aio_fildes, result, request->aio_offset, memory, whole);
    }
  }
};

using EnqueueType = int(aiocb*);
using EnqueueListType = int(int, aiocb* const*, int, sigevent*);
using ReturnType = ssize_t(aiocb*);

}  // namespace

void add_aio_calls(WrappedFunctions& functions) {
  for (const WrappedFunction& function : {
           Wrapper<"aio_read", AioEnqueue, EnqueueType>::function(),
           Wrapper<"aio_read64", AioEnqueue, EnqueueType>::function(),
           Wrapper<"aio_write", AioEnqueue, EnqueueType>::function(),
           Wrapper<"aio_write64", AioEnqueue, EnqueueType>::function(),
           Wrapper<"lio_listio", AioEnqueueList, EnqueueListType>::function(),
           Wrapper<"lio_listio64", AioEnqueueList, EnqueueListType>::function(),
           Wrapper<"aio_return", AioReturn, ReturnType>::function(),
           Wrapper<"aio_return64", AioReturn, ReturnType>::function(),
       }) {
    functions.push_back(function);
  }
}

}  // namespace stoker
