#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/simulate/inputs.h"
#include "app/tools/tune/search.h"
#include "app/tools/tune/ways.h"

// The loaders that could be tried for each way of the data, and what the simulator expects of them.
// Pure functions; any thread.

namespace stoker {

// What a calibrating run said. A value.
struct TuneMachine {
  // Of the way `as configured`. Absent: the engine has no model of it.
  std::optional<SimulationInputs> inputs;
  // Threads that can compute at one time.
  int64_t cores = 1;
  // The device has memory of its own, and batches are copied there.
  bool copies = false;
  // Samples are the same in each epoch, so that they may stay on the device.
  bool may_stay = false;
  // The most bytes of batches.
  uint64_t memory = 0;
};

// What the way, which keeps samples in memory, makes of the inputs.
std::optional<SimulationInputs> inputs_of(const TuneWay& way, const TuneMachine& machine);

// The inputs with at most so many samples, taken evenly from all: a simulation draws the order of
// each of them.
SimulationInputs thinned(SimulationInputs inputs, int64_t samples);

// Loaders, workers and batches ahead for this way, with predictions. They include the experiment's
// own loader, options and all. way: its number.
std::vector<TuneCandidate> candidates_of(const Component<Loader>& loader, const TuneWay& way,
                                         size_t number,
                                         const std::optional<SimulationInputs>& inputs,
                                         const TuneMachine& machine, const TuneData& data);

// The candidate that the experiment's own loader is.
TuneCandidate configured_candidate(const Component<Loader>& loader);

// Whether other loaders are tried in the place of this one, and a run by one that works ahead says
// what its stages cost.
bool may_be_another(const Component<Loader>& loader);

// "loader.type=prefetched" and so on; nothing that the loader has no use for.
std::vector<std::string> loader_overrides(const TuneCandidate& candidate);

}  // namespace stoker
