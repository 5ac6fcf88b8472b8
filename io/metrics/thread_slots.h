#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "io/metrics/clock.h"

namespace stoker {

// The most threads of the whole process at one moment, not only of those that measure. Each
// ThreadSlots holds a pointer for every one.
inline constexpr size_t kMaxThreads = 4096;

// A number below kMaxThreads that no other living thread has; the next thread gets it when this one
// ends. Throws Error(ExitCode::bug) where more threads live.
size_t thread_number();

// One T for every thread, so that writing takes no lock and shares no cache line. What a thread
// wrote stays when it ends, and the thread that inherits its number goes on from there. T must
// allow one thread to write and any to read.
//
//   ThreadSlots<Tally> reads;                             // a member of a meter
//   reads.here().add(took, bytes);                        // any thread, millions of times
//   Tally::Totals all;
//   reads.each([&](const Tally& one) { all += one.totals(); });   // any thread, now and then
template <class T>
class ThreadSlots {
 public:
  // The calling thread's own. The reference stays valid as long as this object; only the calling
  // thread may write through it. The first call of a thread allocates and takes a lock, all later
  // ones are a load.
  T& here() {
    std::atomic<T*>& slot = slots_[thread_number()];
    T* own = slot.load(std::memory_order_relaxed);
    return own != nullptr ? *own : make(slot);
  }

  // Calls f(T&) for the slot of every thread that ever called here(), those that have ended
  // included. Any thread, also while others write: a slot that is made meanwhile may be left out.
  template <class F>
  void each(F f) const {
    for (const std::atomic<T*>& slot : slots_) {
      if (T* own = slot.load(std::memory_order_acquire)) f(*own);
    }
  }

 private:
  // A cache line of its own, or more.
  struct alignas(64) Aligned {
    T value;
  };

  T& make(std::atomic<T*>& slot) {
    const std::lock_guard lock(mutex_);
    T* own = &owned_.emplace_back(std::make_unique<Aligned>())->value;
    slot.store(own, std::memory_order_release);
    return *own;
  }

  std::array<std::atomic<T*>, kMaxThreads> slots_{};
  std::mutex mutex_;
  // Never shrinks: as many as threads lived at once.
  std::deque<std::unique_ptr<Aligned>> owned_;
};

// How long something was going on: the union of the times between begin() and end(), of any number
// of threads at once. Any thread; no lock. Pairs may overlap and nest; each begin() needs its
// end().
class BusyClock {
 public:
  // Something begins at `now`, a reading of Clock that is not older than the object. At most 65 535
  // may be under way at once.
  void begin(TimePoint now);
  // Something that begin() was called for ends at `now`. Which one does not matter.
  void end(TimePoint now);
  // The union so far; what is still going on counts up to `now`.
  Clock::duration total(TimePoint now) const;

 private:
  // How many are at it (16 bits) and since when (48 bits, units of 64 ns: 208 days), in one word,
  // so that whoever ends the last one knows when the first began.
  uint64_t ticks(TimePoint time) const;
  const TimePoint origin_ = Clock::now();
  // Nobody at it where the count is 0; the time beside it is old then.
  std::atomic<uint64_t> state_{0};
  std::atomic<uint64_t> total_{0};  // ticks
};

}  // namespace stoker
