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
  // Where the model comes from, in words.
  std::string source;
  TierCosts costs;
  // The cost of finding an object, in addition to its first request.
  Clock::duration open{};
  // How far predicted times may be off, as a share.
  double error = 0;
};

// What some reads ask of a tier, in seconds. Additive. A value.
struct TierLoad {
  double alone_s = 0;  // one thread that does nothing else
  double slots_s = 0;  // however many threads there are: latencies, queue_depth side by side
  double pipe_s = 0;   // likewise: seeks of the one arm, and bytes
  TierLoad& operator+=(const TierLoad& more);
  TierLoad operator*(double factor) const;
  // The least time, however many threads read.
  double at_least_s() const { return slots_s > pipe_s ? slots_s : pipe_s; }
};

// By the formulas of TierDevice (io/storage/emulated/tier_device.h). Pure; any thread.
TierLoad load_of(const ObjectUse& use, const TierCostModel& model);

// The cost model of a tier. fit: a file with the output of `stoker bench storage CONFIG TIER --fit
// --json`. If it is empty, the tier has to be emulated, or memory, which costs nothing. name is the
// tier's, and option is the command's option that names such a file; both are for messages. Pure,
// except for reading the file. Error: ExitCode::config if nothing is known about the tier,
// ExitCode::data if the file is not such an output, ExitCode::environment if it is missing.
TierCostModel cost_model(const Component<Storage>& tier, const std::string& name,
                         const std::string& fit, const std::string& option);

}  // namespace stoker
