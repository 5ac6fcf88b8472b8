#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/metrics/hub.h"
#include "io/metrics/machine/nvml.h"

namespace stoker {

// What the kernel counted between two moments. A value.
struct MachineUse {
  Machine from;
  Machine to;
  double seconds = 0;
};

// All that is known of a run at one moment: what steps.csv, timeline.csv, /metrics, /api/status and
// summary.json say is read from it, by the table of figures (figures.h). Made by the Hub. A value.
struct RunRecord {
  // The moment, on the clock of all measurements and as Unix time.
  TimePoint at;
  double unix_s = 0;
  double elapsed_s = 0;  // since the loop began, until the run's end; 0 before
  RunMeter::State run;
  CheckpointMeter::State checkpoints;
  std::optional<double> queue_fill;  // of the queue before the trainer; absent: none
  // In whole records only, as all that follows; empty or 0 in those of a step.
  std::vector<LoaderMeter::State> loaders;  // train, test
  // In the order of the configuration.
  std::vector<TierMeter::State> tiers;
  std::array<double, kOverheads> overhead_s{};
  // The tracer's events: those it kept, and those it dropped because they came too fast.
  int64_t trace_events = 0;
  int64_t trace_dropped = 0;
  Machine machine;
  MachineUse use;   // during the loop, so far
  GpuReadings gpu;  // of those who read it
};

// What passed between two moments of one run, so that shares and rates are those of the time
// between: the sums of trainer, device, tiers and machine are subtracted. The rest is of `now`.
RunRecord between(const RunRecord& before, const RunRecord& now);

// The same moment, with what the trainer has done of the step under way. For charts, in which a
// stall shows while it lasts. Times never shrink from one such moment to the next.
RunRecord with_step_under_way(RunRecord record);

}  // namespace stoker
