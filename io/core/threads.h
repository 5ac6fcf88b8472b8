#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace stoker {

// How waits are given up.
//
// A thread says by an Interruptible that it may be told to give up what it waits for, and whoever
// tells it asks the std::stop_source behind the token. All that may wait for long obeys: loaders,
// data sets that read ahead, tiers (transfers are cancelled, retries and the time of an emulated
// device end), and meetings of ranks. A system call is not interrupted.

// The wait was given up. No Error: nothing has failed, and whoever interrupts a thread catches it.
class Interrupted final : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("what was waited for was given up") {}
};

// While it lives, the waits of the thread that made it end by Interrupted when `stop` is asked to
// stop; a wait for something that is there already ends well. They nest, and the innermost counts.
class Interruptible {
 public:
  explicit Interruptible(std::stop_token stop);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  std::stop_token outer_;
};

// The token of this thread; without an Interruptible one that nobody asks to stop. For those who
// wait in ways of their own, or hand it to a thread that works for this one.
std::stop_token interruption();
// Throws Interrupted where this thread was told to give up.
void throw_if_interrupted();

// Waits until done() is true; Interrupted where that is not so yet and the thread is told to give
// up.
template <class Done>
void wait_interruptibly(std::condition_variable_any& changed, std::unique_lock<std::mutex>& lock,
                        Done done) {
  if (!changed.wait(lock, interruption(), std::move(done))) throw Interrupted();
}
// Sleeps until then. Likewise.
void sleep_interruptibly(std::chrono::steady_clock::time_point until);

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

// Calls a function again and again on a thread of its own, with a pause before each call, until the
// object ends; the destructor waits for a call that is under way. Where the process stands still
// meanwhile, that is one pause, however long. The function must not throw.
class Ticker {
 public:
  // name: of the thread, at most 15 characters; it must live for ever. std::system_error where no
  // thread can be started.
  Ticker(const char* name, std::chrono::duration<double> pause, std::function<void()> tick)
      : thread_([this, name, pause, tick = std::move(tick)](const std::stop_token& stop) {
          pthread_setname_np(pthread_self(), name);
          std::unique_lock lock(mutex_);
          while (!wake_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) tick();
        }) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the rest
};

// Objects that are costly to make and that one thread uses at a time: scratch memory, handles. As
// many are made as are in use at once. Any thread; T must be move-constructible.
template <class T>
class IdlePool {
 public:
  // `make` is called where no object is idle, outside of any lock.
  explicit IdlePool(std::function<T()> make) : make_(std::move(make)) {}

  // Calls use(T&) with an object that nobody else uses. What `use` throws is passed on, and its
  // object is not used again.
  template <class Use>
  void with(const Use& use) {
    std::optional<T> object;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        object.emplace(std::move(idle_.back()));
        idle_.pop_back();
      }
    }
    if (!object) object.emplace(make_());
    use(*object);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(*object));
  }

 private:
  const std::function<T()> make_;
  std::mutex mutex_;
  std::vector<T> idle_;
};

// Faults in fresh memory from its begin on, by a thread of its own, beside those who write to it:
// what they write stays, and a fault that they meet would cost them a stop. The destructor ends it
// where it is. Nothing happens on a kernel before 5.14: there the first writer pays. Each span
// begins at a page; the memory must outlive the object.
class FaultAhead {
 public:
  explicit FaultAhead(std::vector<std::span<uint8_t>> memory);

 private:
  std::jthread thread_;
};

// The lowest priority at the processor, and at disks whose scheduler knows classes, for the calling
// thread and for those that it starts from now on. For good; any thread. Where the system refuses,
// nothing happens.
void yield_to_all_others();

}  // namespace stoker
