#pragma once

#include <memory>

#include "io/metrics/tier_meter.h"
#include "io/storage/storage.h"

namespace stoker {

// A tier of the configuration, metered where inputs.hub is there. A tier that is made of several
// opens each of them by this, under a name of its own ("data.fast"), so that they are seen apart;
// one that only slows another down opens that by create(), as an operation counts once. Throws what
// the tier's constructor throws.
std::unique_ptr<Storage> open_tier(const Component<Storage>& tier, Storage::Inputs inputs);

// `inner`, with every operation on its objects and files counted and timed as the caller sees them.
// The meter must outlive it. Any thread, as every tier.
std::unique_ptr<Storage> metered(std::unique_ptr<Storage> inner, TierMeter& meter);

}  // namespace stoker
