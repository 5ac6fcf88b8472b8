#include "io/core/threads.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

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

void yield_to_all_others() {
  constexpr int kWhoThread = 1, kClassIdle = 3, kClassShift = 13;
  ::syscall(SYS_ioprio_set, kWhoThread, 0, kClassIdle << kClassShift);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
}

}  // namespace stoker
