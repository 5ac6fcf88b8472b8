#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/tools/simulate/inputs.h"
#include "app/tools/size/size.h"
#include "app/tools/size/sized_data.h"

namespace stoker {

// What the GPUs get from a tier. A value.
struct TierNeed {
  std::string name;
  // Of each GPU: the fewest that get what the tier can give, or those that were asked for.
  int64_t workers = 0;
  double images_per_s = 0;
  // The GPUs get all that they take.
  bool holds = false;
  // "the GPUs", "the cores", "the workers" or "the tier": what a better one of would change it.
  std::string binds;
  // So many devices like this one, side by side, hold, with so many workers of each GPU. 0: one
  // does, or it is not the tier that binds.
  int64_t devices = 0, workers_of_devices = 0;
};

// What nodes need. Figures are of one node, but for the tiers, which all nodes share. A value.
struct NodeNeed {
  double images_per_s = 0;  // what its GPUs take
  double busy_cores = 0;    // for that, in loading
  double cores = 0;         // with those of the GPUs' threads; whole
  double mb_per_s = 0, requests_per_s = 0;
  uint64_t batch_bytes = 0;  // batches on their way to all its GPUs
  TierNeed cached;           // where no tier is read
  std::vector<TierNeed> tiers;
};

// pixel_bytes: of a decoded sample. tiers: to try. The inputs may have a tier of their own, which
// is not tried. progress: told how many tiers were tried, and of how many.
NodeNeed node_need(const SizeArguments& arguments, const SimulationInputs& inputs,
                   uint64_t pixel_bytes, const std::vector<NamedTier>& tiers,
                   const std::function<void(int64_t, int64_t)>& progress);

}  // namespace stoker
