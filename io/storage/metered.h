#pragma once

#include <memory>

#include "io/metrics/tier_meter.h"
#include "io/storage/storage.h"

namespace stoker {

// `inner`, with every operation on its objects and files counted and timed as the caller sees them.
// The meter must outlive it. Any thread, as every tier.
std::unique_ptr<Storage> metered(std::unique_ptr<Storage> inner, TierMeter& meter);

}  // namespace stoker
