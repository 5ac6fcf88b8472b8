#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "io/core/interruption.h"

namespace stoker {

// Calls work(i) for every i in [0, count), by at most `threads` threads, the caller included;
// returns when all are done. The order is unspecified: indices are claimed one by one. After an
// exception no further i is begun, and the first one is rethrown here. `work` must be safe to call
// from several threads at once. The threads are made and joined in each call, so it is for work of
// milliseconds, not for samples.
//
// A count of 0 or less: nothing is called. One thread, or 0: all is done by the caller, in order.
// What `work` did in any thread is visible to the caller afterwards. Any thread may call; calls may
// nest, but their threads add up. Where a thread cannot be made, the others do its share. Whoever
// interrupts the caller interrupts them all.
template <class F>
void parallel_for(int64_t threads, int64_t count, const F& work) {
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (int64_t i = 1; i < std::min(threads, count); ++i) {
        helpers.emplace_back([&run, stop = interruption()] {
          const Interruptible with_the_caller(stop);
          run();
        });
      }
    } catch (const std::system_error&) {
    }
    run();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace stoker
