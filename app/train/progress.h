#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "app/train/sinks.h"
#include "io/device/device.h"
#include "io/metrics/idle.h"
#include "io/metrics/ledger.h"
#include "io/metrics/record/run_record.h"
#include "io/metrics/spread.h"

namespace stoker {

// Publishes the ledger's and the device's times: in the hub after every step, and window by window
// to the sinks. The device's times come late, when it has finished a step; the segment that the
// trainer was in says why it was idle. The trainer's thread; references must outlive it. What its
// own work costs is counted as overhead (Hub).
class Progress {
 public:
  // Call it after StepLedger::begin(). steps, epochs: those that were finished before. many: there
  // are other ranks, and add_peers() tells of each step before the next one is added.
  Progress(Device& device, StepLedger& ledger, Hub& hub, RunSinks& sinks, int64_t steps,
           int64_t epochs, bool many);

  // Counts a submitted step of `images` samples. The device may not have begun it.
  void add_step(int64_t images, int64_t epoch);
  // Tells how long the device waited for other ranks in its last step.
  void add_peers(Clock::duration waited) { idle_.add_peers(waited); }
  // Tells the times of the parts of all steps so far, if they are known.
  void set_pass(const std::optional<PassTimes>& times) { totals_.pass = times; }
  // Counts an epoch that is over.
  void add_epoch() { ++totals_.epochs; }
  // Takes over the intervals of steps that the device has finished. wait: until it has finished
  // all.
  void collect(bool wait);
  // Hands what passed since the last call to the sinks. `loss` is empty where none is computed.
  void report(std::optional<double> loss, double learning_rate);
  // Samples of this process so far.
  int64_t images() const { return totals_.images; }
  // Call it after StepLedger::end(). Afterwards everything measured is in the hub.
  void finish();

 private:
  // Puts the totals into the hub.
  void publish();
  // Puts what the trainer did since the last call into the idle times and the trace.
  void take_segments();

  Device& device_;
  StepLedger& ledger_;
  Hub& hub_;
  IdleAttribution idle_;
  RunSinks& sinks_;
  const int64_t first_step_;
  RunTotals totals_;  // as published last
  // Images/s of each second, for their spread over the run.
  RateWindows rates_;
  // The record as the sinks got it last, which is the beginning of the next window.
  RunRecord reported_;
};

}  // namespace stoker
