#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/metrics/hub.h"

namespace stoker {

// What a reader of a tier's figures has to know: whether they are calculated, what the tier could
// not do as it was asked to, how often an emulation was too slow for its model.

// The state of a tier and of the tiers that it is made of ("data", "data.inner"). Nothing for an
// empty name.
std::vector<TierMeter::State> parts_of_tier(const Hub& hub, const std::string& tier);

// A line for each condition: "tier data: posix", "tier data: EMULATED ...".
std::vector<std::string> tiers_text(const std::vector<TierMeter::State>& tiers);
// An object for each tier: name, type, emulated, conditions and, where it is emulated, overruns.
nlohmann::json tiers_json(const std::vector<TierMeter::State>& tiers);

}  // namespace stoker
