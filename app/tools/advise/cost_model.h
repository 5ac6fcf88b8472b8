#pragma once

#include <string>

#include "app/tools/advise/object_use.h"
#include "io/core/config/registry.h"
#include "io/metrics/clock.h"
#include "io/storage/emulated/tier_device.h"
#include "io/storage/storage.h"

namespace stoker {

// What reads cost on a tier: the model of an emulated one, whose figures that tier was given, or
// that were found by `stoker bench storage --fit`. A value.
struct TierCostModel {
  // Where it comes from, in words.
  std::string source;
  TierCosts costs;
  // Of finding an object, on top of what its first request takes.
  Clock::duration open{};
  // By which share predicted times may be off, to either side.
  double error = 0;
};

// What some reads ask of a tier, in seconds. Additive. A value.
struct TierLoad {
  double alone_s = 0;  // of one thread that does nothing else
  double slots_s = 0;  // however many threads there are: latencies, queue_depth side by side
  double pipe_s = 0;   // likewise: seeks of the one arm, and bytes
  TierLoad& operator+=(const TierLoad& more);
  TierLoad operator*(double factor) const;
  // However many threads: no less than this.
  double at_least_s() const { return slots_s > pipe_s ? slots_s : pipe_s; }
};

// By the formulas of TierDevice (io/storage/emulated/tier_device.h). Pure; any thread.
TierLoad load_of(const ObjectUse& use, const TierCostModel& model);

// The model of a tier. fit: the file that has the output of `stoker bench storage CONFIG TIER --fit
// --json`; empty: the tier has to be an emulated one, or memory, which is taken for free. name: of
// the tier, and option: that of the command which names such a file, both for messages. Pure, but
// for reading the file. Error: ExitCode::config where nothing is known of the tier, ExitCode::data
// where the file is not such an output, ExitCode::environment where it is missing.
TierCostModel cost_model(const Component<Storage>& tier, const std::string& name,
                         const std::string& fit, const std::string& option);

}  // namespace stoker
