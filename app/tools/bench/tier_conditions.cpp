#include "app/tools/bench/tier_conditions.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace stoker {

std::vector<TierMeter::State> parts_of_tier(const Hub& hub, const std::string& tier) {
  std::vector<TierMeter::State> parts = hub.tiers();
  std::erase_if(parts, [&](const TierMeter::State& part) {
    return tier.empty() || (part.name != tier && !part.name.starts_with(tier + "."));
  });
  return parts;
}

std::vector<std::string> tiers_text(const std::vector<TierMeter::State>& tiers) {
  std::vector<std::string> lines;
  for (const TierMeter::State& tier : tiers) {
    const std::string begin = fmt::format("tier {}: ", tier.name);
    lines.push_back(begin + tier.type +
                    (tier.emulated ? ", EMULATED: calculated, not measured" : ""));
    if (tier.overruns > 0) {
      lines.push_back(
          fmt::format("{}{} operations took longer than the emulation's model says: its figures "
                      "are low",
                      begin, tier.overruns));
    }
    for (const std::string& condition : tier.conditions) lines.push_back(begin + condition);
  }
  return lines;
}

nlohmann::json tiers_json(const std::vector<TierMeter::State>& tiers) {
  nlohmann::json json = nlohmann::json::array();
  for (const TierMeter::State& tier : tiers) {
    json.push_back({{"name", tier.name},
                    {"type", tier.type},
                    {"emulated", tier.emulated},
                    {"conditions", tier.conditions}});
    if (tier.emulated) json.back()["overruns"] = tier.overruns;
  }
  return json;
}

}  // namespace stoker
