#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "io/core/error.h"
#include "io/metrics/hub.h"
#include "io/metrics/io_sessions.h"

namespace stoker {

// From now on SIGUSR2 begins a session of the I/O profiler, and the next one ends it (IoTrigger),
// for the rest of the process: one that comes too late changes nothing. Where the signal was
// blocked (main.cpp), one that came before counts, too. The main thread.
void take_session_signal();

// When the I/O profiler has a session: by metrics.io_profile, or because IoTrigger was asked for
// one. Each leaves io_profile-STEP.darshan in the run directory, where STEP is the one it began
// after (STEP-2 and so on where others began there), beside what IoSessions says. What is asked for
// lasts until it is asked to end; the configured ones wait meanwhile. The profiler is attached from
// the first session on. Where it cannot be, a session that was asked for is a line in the log. The
// trainer's thread. `hub` must outlive it.
class IoWindow {
 public:
  // Begins the first session where there are any, so that it sees the loader's first reads. `step`:
  // finished ones. folders: as IoSessions::Inputs'. Error as IoSessions', for configured sessions.
  IoWindow(const IoProfileOptions& options, std::string run_dir, std::vector<std::string> folders,
           int64_t step, Hub& hub, Notify log);
  IoWindow(const IoWindow&) = delete;
  IoWindow& operator=(const IoWindow&) = delete;

  // Call it before each step: ends and begins sessions. Error as IoSessions', for configured ones.
  void at_step(int64_t step);
  // Call it between batches of an evaluation: does what was asked for, and nothing else.
  void in_evaluation(int64_t step);
  // Once, when the run's I/O is over, after `step` steps: ends the open session; when it returns,
  // all logs are written. IoError as IoSessions::finish().
  void finish(int64_t step);

 private:
  // False: nothing was asked for.
  bool obey(int64_t step);
  bool open() const { return sessions_ && sessions_->open(); }
  void begin(int64_t step);
  void end(int64_t step);

  const IoProfileOptions options_;
  const std::string run_dir_;
  const std::vector<std::string> folders_;
  Hub& hub_;
  const Notify log_;
  std::unique_ptr<IoSessions> sessions_;  // null: there was none yet
  bool asked_for_ = false;                // the open one
  int64_t first_step_ = -1;               // first step of the latest session
  int64_t begun_there_ = 0;               // sessions
};

// What the I/O profiler's sessions of this process come to together: `io_profile` of its summary.
// Sessions may end on any thread; the rest is of one thread. The feed must outlive it.
class IoTotals {
 public:
  explicit IoTotals(IoSessionFeed& feed);

  // Null: no session has ended. Else `sessions`, `seconds` and `files` of all, and under `posix`,
  // `stdio`, `read`, `write` and `file_sizes` the sums of what profile_json() has there. Rates are
  // of all sessions' time. A file is counted in each session that saw it.
  nlohmann::json figures() const;

 private:
  void add(const IoSessionReport& report);

  mutable std::mutex mutex_;
  nlohmann::json sums_;                                        // null: no session
  std::unique_ptr<IoSessionFeed::Subscription> subscription_;  // last, for it uses the rest
};

}  // namespace stoker
