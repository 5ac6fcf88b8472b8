#pragma once

#include <cstdint>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "app/tools/advise/object_use.h"
#include "io/dataset/dataset.h"
#include "io/loader/loader.h"
#include "io/storage/storage.h"

namespace stoker {

struct LoaderOptions;

// The options of a loader, whatever its type: all loaders have them.
LoaderOptions loader_options(const Component<Loader>& loader);

// How often a run goes through its data, as its configuration says. A value.
struct PassCounts {
  double epochs = 0;  // epochs of training; max_steps may cut the last one
  int64_t evaluations = 0;
};
PassCounts passes_of(const ExperimentOptions& options, int64_t steps_per_epoch);

// What the run of this configuration reads of each object of the listing, in the listing's order:
// the sampler says which samples, and the tier how a whole object is read
// (StorageInfo::read_piece). readers: threads that read, whose requests get between one another's
// pieces. Objects that hold no sample are there, unread. Error as the sampler's. Any thread.
std::vector<ObjectUse> configured_uses(const ExperimentOptions& options, const Dataset& dataset,
                                       const std::vector<ObjectInfo>& listing, uint64_t read_piece,
                                       int64_t readers);

}  // namespace stoker
