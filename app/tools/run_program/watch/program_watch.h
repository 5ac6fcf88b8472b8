#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/tools/run_program/watch/samples.h"

namespace stoker {

// How often a program is looked at. A value.
struct WatchPace {
  double shortest_s = 0.025;  // between two looks
  double longest_s = 1;
  double most_cost = 0.008;  // share of a core that looking may take, where longest_s allows it
};

// Watches a program and all processes that it starts, on a thread of its own, from begin to stop():
// what each thread does or waits for, and what the machine does meanwhile. It only reads /proc (and
// the arguments of poll() from the processes' memory), stops nothing and needs no more rights than
// ptrace does; what the kernel does not tell counts as `other`. One thread at a time.
//
// How the program is seen to have ended does not matter; looks at what is no longer there are
// cheap.
class ProgramWatch {
 public:
  // root: the program's process. std::system_error where no thread can be started.
  explicit ProgramWatch(pid_t root, WatchPace pace = {});
  ProgramWatch(const ProgramWatch&) = delete;
  ProgramWatch& operator=(const ProgramWatch&) = delete;
  // Ends the watch and returns what was seen. Call it once.
  ProgramSamples stop();

 private:
  void watch(const std::stop_token& stop);

  pid_t root_;
  WatchPace pace_;
  ProgramSamples samples_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace stoker
