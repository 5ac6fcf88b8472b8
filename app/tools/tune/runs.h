#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/process/stop_signal.h"
#include "app/tools/doctor/short_run.h"
#include "io/core/system/file.h"
#include "io/metrics/clock.h"

namespace stoker {

// The short runs of a search: child processes that train with the experiment's settings and some
// others, without checkpoints and evaluations, until they are told to stop. What they leave is
// removed with this object. One thread.
class TuneRuns {
 public:
  // config, overrides: the experiment. seconds: after so long no run is begun any more that would
  // not end in time. stop: ends a run, and the search.
  TuneRuns(std::string config, std::vector<std::string> overrides, double seconds,
           const StopSignal& stop);

  // Runs report every so many steps: each, unless a report has to wait for the device.
  void report_every(int64_t steps) { every_steps_ = steps; }
  // Whether there is time for a run that trains for so long.
  bool time_for(double seconds) const;
  double spent_s() const;
  int64_t count() const { return count_; }
  // A run that trains for about so many seconds. Error as short_run(); the log stays as long as
  // this object, and its last line is the message.
  ShortRun run(const std::vector<std::string>& overrides, double seconds);

 private:
  const std::string config_;
  const std::vector<std::string> overrides_;
  const double seconds_;
  const StopSignal& stop_;
  const TimePoint begin_ = Clock::now();
  const TemporaryFolder directory_{"tune"};
  int64_t every_steps_ = 1;
  int64_t count_ = 0;
  // Of a run, beside its training: what the runs before took.
  double beside_s_ = 1;
};

}  // namespace stoker
