#pragma once

#include <optional>

#include "app/tools/run_program/watch/samples.h"
#include "app/tools/run_program/watch/task_files.h"

namespace stoker {

// Divides the time of one thread by what it did, from looks at it.
//
// Time on a core and time without one are the kernel's own counts, so they are exact however seldom
// one looks. The rest, in which the thread was blocked, goes to what it is seen blocked on: at this
// look, or, where it is seen running, at the next one at which it is blocked. One thread at a time.
class ThreadMeter {
 public:
  // begin_s: when the thread began, or was there already.
  explicit ThreadMeter(double begin_s) : last_s_(begin_s) {}
  // Whether it got a core since the look before. If not, what it does has not changed.
  bool has_run(const TaskSchedule& schedule) const { return schedule != last_; }
  // One look. blocked: what the thread is blocked on; absent: it runs, or could. Returns what is to
  // be added to its sums, which may be negative: a thread that was woken and had no core counts as
  // blocked until it gets one.
  DoingSeconds look(double now_s, const TaskSchedule& schedule, std::optional<Doing> blocked);
  // The thread has ended. so_far: all that it did; the time for which nothing was seen is divided
  // as the rest of its blocked time.
  DoingSeconds end(const DoingSeconds& so_far);

 private:
  // Takes time back from what was said to be blocked; returns how much that was.
  double take_back(double excess_s, DoingSeconds& did);

  double last_s_;
  TaskSchedule last_;
  Doing doing_ = Doing::other;  // at the last look at which it was blocked
  double recent_s_ = 0;         // that were given to doing_ without a run in between
  double pending_s_ = 0;        // blocked, on what was not seen
  double credit_s_ = 0;         // without a core, which the kernel will count when it gets one
};

}  // namespace stoker
