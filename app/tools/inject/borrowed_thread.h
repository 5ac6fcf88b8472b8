#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/inject/call_frame.h"
#include "app/tools/inject/target_objects.h"

namespace stoker {

// One thread of another process that is stopped for a moment, in or behind a harmless system call,
// and made to call a function. All others go on. Belongs to the thread that made it, and has to end
// with it: where this one is gone, the kernel lets the other one go on, and a call that it has
// begun ends by itself (CallFrame). A thread that has ended, or is traced by somebody, does not
// stop; whether the process may be traced at all is the caller's to ask (TargetMemory). x86-64.
class BorrowedThread {
 public:
  using Clock = std::chrono::steady_clock;

  // Traces it; it goes on running.
  BorrowedThread(pid_t pid, pid_t thread);
  // It goes on where it was.
  ~BorrowedThread();
  BorrowedThread(const BorrowedThread&) = delete;
  BorrowedThread& operator=(const BorrowedThread&) = delete;

  // Waits until it is in or behind a harmless call. False: not until then; it runs, or is let go.
  bool stop_harmlessly(Clock::time_point until);
  enum class Outcome {
    returned,  // and all is as it was before
    refused,   // not begun: no room on its stack, or it is in the handler of a signal
    failed,    // it has made a mistake (a signal), and was put back
    under_way  // it does not return in time; when it does, all is as it was before
  };
  // After stop_harmlessly(). `call.block` is what the function left there, where it returned.
  Outcome make(TargetCall& call, const TargetObjects& objects, const TargetMemory& memory,
               uint64_t restorer, Clock::time_point until);

 private:
  // How it stopped.
  enum class Stop { none, event, call, signal, gone };
  Stop wait(Clock::time_point until);
  bool resume(int request, int signal = 0);
  bool stop_now(Clock::time_point until);
  bool stop_behind_call(Clock::time_point until);
  bool behind_harmless_call(bool waiting);
  bool get_registers(user_regs_struct& registers) const;
  bool set_registers(const user_regs_struct& registers) const;
  Outcome run(const CallFrame& frame, uint64_t restorer, Clock::time_point until);
  bool put_back(uint64_t restorer, Clock::time_point until);

  const pid_t pid_, thread_;
  bool stopped_ = false;
  bool gone_ = false;
  bool was_to_stop_ = false;  // somebody sent SIGSTOP meanwhile
  int signal_ = 0;            // of the stop, to be passed on
  user_regs_struct before_{};
  uint64_t mask_ = 0;
  std::vector<char> floating_;  // all of it
};

}  // namespace stoker
