#pragma once

#include <csignal>
#include <optional>

#include "io/core/error.h"
#include "io/metrics/clock.h"

namespace stoker {

// While it lives, the first SIGINT or SIGTERM asks the run to stop instead of ending the process; a
// second one ends it at once. One instance at a time; the trainer's thread. The destructor restores
// the handlers of before.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;
  // When the request came.
  std::optional<TimePoint> when() const;
  // sigint or sigterm after a request, else ok.
  ExitCode exit_code() const;

 private:
  struct sigaction old_int_;
  struct sigaction old_term_;
};

}  // namespace stoker
