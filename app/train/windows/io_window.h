#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "app/experiment/experiment_options.h"
#include "io/core/bounded_queue.h"
#include "io/core/notify.h"
#include "io/profiler/io_profiler.h"
#include "io/profiler/io_session.h"

namespace stoker {

// While it lives, SIGUSR2 begins a session of the I/O profiler, and the next one ends it
// (IoTrigger). One instance at a time, made and destroyed by one thread; the destructor restores
// the former handler.
class SessionSignal {
 public:
  SessionSignal();
  ~SessionSignal();
  SessionSignal(const SessionSignal&) = delete;
  SessionSignal& operator=(const SessionSignal&) = delete;

 private:
  struct sigaction old_;
};

class Hub;

// Sessions of the I/O profiler (io/profiler), by metrics.io_profile or because IoTrigger was asked
// for one. Each leaves io_profile-STEP.darshan in the run directory, where STEP is the one it began
// after (STEP-2 and so on where others began there), a row for each file among the tracer's, and
// the live page's section. What is asked for lasts until it is asked to end; the configured ones
// wait meanwhile. The profiler is attached from the first session on. The trainer's thread; logs
// are written by one of its own. `hub` must outlive it.
class IoWindow {
 public:
  // Begins the first session where there are any, so that it sees the loader's first reads. `step`:
  // finished ones. Error as IoProfiler's.
  IoWindow(const IoProfileOptions& options, std::string run_dir, int64_t step, Hub& hub,
           Notify log);
  // Drops a session that is open.
  ~IoWindow();
  IoWindow(const IoWindow&) = delete;
  IoWindow& operator=(const IoWindow&) = delete;

  // Call it before each step: ends and begins sessions. Error as IoProfiler's.
  void at_step(int64_t step);
  // Call it between batches of an evaluation: does what was asked for, and nothing else. Likewise.
  void in_evaluation(int64_t step);
  // Once, when the run's I/O is over, after `step` steps: ends the open session; when it returns,
  // all logs are written. IoError where one could not be: those behind it are missing, too.
  void finish(int64_t step);

 private:
  struct Ended {
    std::string name;  // name of the log file
    IoProfile profile;
  };
  // False: nothing was asked for.
  bool obey(int64_t step);
  void begin(int64_t step);
  void end(int64_t step);
  void write(const Ended& ended);

  const IoProfileOptions options_;
  const std::string run_dir_;
  Hub& hub_;
  const Notify log_;
  const SessionSignal signal_;
  std::unique_ptr<IoProfiler> profiler_;
  std::optional<IoSession> session_;
  bool asked_for_ = false;   // the open one
  int64_t first_step_ = -1;  // first step of the latest session
  int64_t begun_there_ = 0;  // sessions
  BoundedQueue<Ended> ended_{4};
  std::jthread writer_;
};

}  // namespace stoker
