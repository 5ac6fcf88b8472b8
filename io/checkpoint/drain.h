#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "io/checkpoint/options.h"
#include "io/checkpoint/progress_watch.h"
#include "io/checkpoint/set_store.h"
#include "io/metrics/checkpoint_meter.h"

namespace stoker {

// Copies committed sets from the fast tier to the slow one, oldest first (but one that failed goes
// to the end of the queue), on a thread of its own that yields to everybody else (idle I/O class,
// lowest CPU priority). What it has not copied when
// the process ends is on the fast tier still, and the next process goes on with it. Any thread;
// hooks are called on its own.
class Drain {
 public:
  struct Hooks {
    // Committed and verified; begin: of the attempt.
    std::function<void(int64_t step, TimePoint begin)> done;
    // An attempt failed; `again`: there will be another.
    std::function<void(int64_t step, const std::string& error, bool again)> failed;
    std::function<void()> appeared;  // the slow tier, which was absent at the start
    ProgressWatch::Deadline deadline;
    CheckpointMeter* meter = nullptr;  // may be null
  };
  Drain(SetStore& from, SetStore& to, const CheckpointOptions& options, Hooks hooks);
  ~Drain();

  void add(int64_t step);
  int64_t left();
  // Waits until nothing is left, without pauses between attempts; gives up after three that failed
  // in a row. False: something is left.
  bool flush();
  bool hung();

 private:
  void run();
  bool attempt(int64_t step);
  void copy(int64_t step);
  void copy_files(int64_t step, const Manifest& manifest);
  void pause(int failures);

  SetStore& from_;
  SetStore& to_;
  const CheckpointOptions options_;
  const double bytes_per_s_;  // infinite: no limit
  const Hooks hooks_;
  ProgressWatch watch_;
  std::atomic<bool> stop_{false};
  bool absent_ = false;  // the slow tier was, and what is on it is not known yet; its thread only
  // Under the watch's mutex:
  std::deque<int64_t> queue_;  // the one being copied is the front
  int failures_ = 0;           // in a row
  bool flushing_ = false;
  std::jthread thread_;  // last: joined before anything it uses goes
};

}  // namespace stoker
