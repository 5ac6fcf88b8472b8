#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "io/experiment/experiment_data.h"
#include "io/loader/failure_budget.h"
#include "io/loader/loader.h"

namespace stoker {

// What an epoch of a loader took, or the beginning of an epoch. A value.
struct LoadedEpoch {
  double seconds = 0;
  double first_batch_s = 0;
  int64_t images = 0;
  // Samples that were replaced; their replacements are among the images.
  int64_t bad = 0;
  // What the loader's workers did.
  LoadCost cost;
  // The last batch had its pixels in host memory.
  bool on_host = true;
};

// The one way in which a loader is measured: takes batch after batch of an epoch and drops each at
// once, until the epoch ends or `images` have come. see: is shown every batch in the time that is
// measured, and may throw. The calling thread is the consumer.
LoadedEpoch load_epoch(Loader& loader, int64_t epoch,
                       const std::function<void(const Batch&)>& see = {},
                       int64_t images = std::numeric_limits<int64_t>::max());

// Which bad samples dataset.on_error allows in training.
FailureBudget training_budget(const Dataset& dataset);

// Makes a loader whose remarks are left out.
std::unique_ptr<Loader> quiet_loader(const Component<Loader>& loader, const Dataset& dataset,
                                     const Decoder& decoder, const LoaderUse& use,
                                     LoaderMeter& meter, uint64_t seed);

}  // namespace stoker
