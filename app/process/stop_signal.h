#pragma once

#include <csignal>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>

#include "io/core/error.h"
#include "io/metrics/clock.h"

namespace stoker {

// While it lives, the first SIGINT, SIGTERM, SIGHUP or SIGUSR1 (what mpirun and Slurm can send to
// all ranks) asks the run to stop instead of ending the process. The same one again ends it at
// once, but not within a second: whoever signals a process and its group, as timeout(1) does, means
// it once. SIGHUP stays ignored where it was (nohup). One instance at a time, made and destroyed by
// one thread; its methods are for any thread. The destructor restores the former handlers. Who does
// one short thing after another asks requested() between; who may wait for long waits with token().
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
  // When the request came, which is the first signal; absent: there was none.
  std::optional<TimePoint> when() const;
  // What the program should end with: sigint after SIGINT, sigterm after another one, else ok.
  ExitCode exit_code() const;
  // The signal; 0: there was none.
  int number() const;
  // Another rank got this signal, and so the run is asked to stop. If it comes here as well, that
  // is its first time.
  void adopt(int signal);

 private:
  void pass_on(const std::stop_token& end);

  std::map<int, struct sigaction> old_;  // the former handlers, by signal
  std::stop_source source_;
  std::jthread passes_on_;
};

}  // namespace stoker
