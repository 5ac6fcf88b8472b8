#pragma once

#include <csignal>
#include <optional>
#include <stop_token>
#include <thread>

#include "io/core/error.h"
#include "io/metrics/clock.h"

namespace stoker {

// While it lives, the first SIGINT, SIGTERM or SIGUSR1 (what mpirun and Slurm can send to all
// ranks) asks the run to stop instead of ending the process; a second one ends it at once. One
// instance at a time, made and destroyed by one thread; its methods are for any thread. The
// destructor restores the former handlers. Who does one short thing after another asks requested()
// between; who may wait for long waits with token().
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Once true, true until the object ends.
  bool requested() const;
  // It is asked to stop when the request comes, by a thread of its own: a handler may wake nobody.
  std::stop_token token() const { return source_.get_token(); }
  // When the request came; absent: there was none.
  std::optional<TimePoint> when() const;
  // What the program should end with: sigint after SIGINT, sigterm after another one, else ok.
  ExitCode exit_code() const;
  // The signal; 0: there was none.
  int number() const;
  // Another rank got this signal. It counts as if it had come here.
  void adopt(int signal);

 private:
  // The former handlers.
  struct sigaction old_int_;
  struct sigaction old_term_;
  struct sigaction old_usr1_;
  std::stop_source source_;
  std::jthread passes_on_;
};

}  // namespace stoker
