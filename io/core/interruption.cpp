#include "io/core/interruption.h"

#include <thread>

namespace stoker {
namespace {

// It belongs to a thread, as LibTorch's grad mode does. As a parameter it would go through every
// data set and tier, and most of them only pass it on.
thread_local std::stop_token t_stop;

}  // namespace

Interruptible::Interruptible(std::stop_token stop)
    : outer_(std::exchange(t_stop, std::move(stop))) {}

Interruptible::~Interruptible() { t_stop = std::move(outer_); }

std::stop_token interruption() { return t_stop; }

void throw_if_interrupted() {
  if (t_stop.stop_requested()) throw Interrupted();
}

void sleep_interruptibly(std::chrono::steady_clock::time_point until) {
  if (!t_stop.stop_possible()) return std::this_thread::sleep_until(until);
  // Kept, for a short sleep should cost little.
  thread_local std::mutex mutex;
  thread_local std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_until(lock, t_stop, until, [] { return false; });
  throw_if_interrupted();
}

}  // namespace stoker
