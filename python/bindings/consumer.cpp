#include "python/bindings/consumer.h"

#include <pthread.h>

#include <chrono>
#include <exception>
#include <utility>

#include "io/core/threads.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

// How long a signal waits until its handler runs.
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

Consumer::Consumer() : thread_([this] { work(); }) {}

Consumer::~Consumer() {
  const Released without;
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
    stop_.request_stop();
  }
  changed_.notify_all();
  thread_.join();
}

void Consumer::begin(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    task_ = std::move(task);
    stop_ = {};
  }
  changed_.notify_all();
}

bool Consumer::over_within(std::chrono::milliseconds time) {
  const Released without;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return !task_; });
}

void Consumer::await() {
  for (bool over = false; !over;) {
    over = over_within(kLook);
    // Also when it is over: what the caller returned now would be lost.
    if (PyErr_CheckSignals() == 0) continue;
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
    throw nb::python_error();
  }
}

bool Consumer::busy() {
  const std::lock_guard lock(mutex_);
  return static_cast<bool>(task_);
}

void Consumer::end() {
  const Released without;
  std::unique_lock lock(mutex_);
  stop_.request_stop();
  changed_.wait(lock, [this] { return !task_; });
}

void Consumer::run(const std::function<void()>& task) {
  std::exception_ptr error;
  begin([&] {
    try {
      task();
    } catch (...) {
      error = std::current_exception();
    }
  });
  try {
    await();
  } catch (...) {
    end();
    throw;
  }
  if (error) std::rethrow_exception(error);
}

void Consumer::work() {
  pthread_setname_np(pthread_self(), "consumer");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return task_ || leaving_; });
    if (!task_) return;
    const Interruptible scope(stop_.get_token());
    lock.unlock();
    task_();
    lock.lock();
    task_ = {};
    changed_.notify_all();
  }
}

}  // namespace stoker::python
