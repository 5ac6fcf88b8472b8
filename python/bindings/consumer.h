#pragma once

#include <nanobind/nanobind.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace stoker::python {

// A thread that does one task after another for Python, whose own thread can look for signals
// meanwhile: so Ctrl-C ends a wait. Its tasks run without the GIL, and their waits end by
// Interrupted when interrupt() is called (io/core/threads.h). All but the tasks is called with
// the GIL held.
class Consumer {
 public:
  Consumer();
  // Gives up what is under way, and waits for it without the GIL.
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Begins a task, which must not throw; none may be under way.
  void begin(std::function<void()> task);
  // Waits for its end. Where a signal's handler raises by then, the task is told to give up, and
  // that error is thrown at once: the task may still be under way then.
  void await();
  // Whether a task is under way: another thread may have begun one since an await().
  bool busy();
  // Tells the task to give up, and waits for that, come what may.
  void end();
  // The three in one, for tasks that may throw: what the task throws is thrown here, and a signal's
  // error only when the task is over.
  void run(const std::function<void()>& task);

 private:
  void work();
  bool over_within(std::chrono::milliseconds time);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // that is under way; empty: none is
  std::stop_source stop_;
  bool leaving_ = false;
  std::jthread thread_;
};

}  // namespace stoker::python
