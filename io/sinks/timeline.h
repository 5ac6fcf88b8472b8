#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/metrics/hub.h"
#include "io/metrics/process_stats.h"
#include "io/metrics/system_stats.h"

namespace stoker {

// What a run's counters say at one moment. A value.
struct TimelineMoment {
  TimePoint at;
  double unix_s = 0;
  std::vector<TierMeter::State> tiers;
  RunMeter::State run;
  ProcessStats process;
  SystemStats system;
  std::optional<double> queue_fill;
  std::array<int, kCheckpointParts> under_way{};
};
TimelineMoment look_at(Hub& hub);

struct TimelineField {
  std::string name;
  std::optional<double> value;  // absent: not measured
};

// A row of timeline.csv: what passed between two moments of one run, whose loop began before `to`.
// The names depend on the tiers alone.
//
// Bytes count when their operation ends. Checkpoints are read and written in pieces of 8 MiB and a
// sample is one read, so an operation seldom lasts longer than a row. The trainer's shares are
// those of its ledger, and of what it is doing now where a step is under way; the device's are of
// the time that was observed since the row before, which ends with a step.
std::vector<TimelineField> timeline_row(const TimelineMoment& from, const TimelineMoment& to);

}  // namespace stoker
