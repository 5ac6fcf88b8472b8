#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <utility>

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

}  // namespace stoker
