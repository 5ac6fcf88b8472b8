#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "io/core/threads.h"

namespace stoker {

// While it lives, a file system that does not answer ends the process, as ExitCode::storage with an
// error that names the call and the path: nobody can take back a system call that hangs, and
// without what it reads no run can start. Made by the thread that starts the run; a call counts
// only while that thread stands still, too, and only for as long as the process runs. Linux says
// what each thread waits for; where it does not (no /proc), nothing is watched.
class StartWatch {
 public:
  // hang_seconds: how long one call may take.
  explicit StartWatch(double hang_seconds);
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  // The call that a thread was last seen in, and how often before it was the same one.
  struct Seen {
    std::string call;  // as /proc has it; and the thread's time on a processor
    int64_t looks;
  };
  void look();
  [[noreturn]] void give_up(const std::string& call) const;

  const double hang_seconds_;
  const double pause_;  // between two looks, seconds
  const std::string starter_;
  std::map<std::string, Seen> threads_;  // by number; its own thread only
  Ticker ticker_;                        // last: it uses the rest
};

}  // namespace stoker
