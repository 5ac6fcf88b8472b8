#include "app/tools/run_program/program_tiers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/core/text/text.h"

namespace stoker {

template <>
Registry<ProgramTiers>& Registry<ProgramTiers>::global() {
  static Registry registry;
  return registry;
}

std::unique_ptr<ProgramTiers> program_tiers(const ProgramTiers::Inputs& inputs) {
  if (inputs.tiers.empty()) return nullptr;
  return default_component<ProgramTiers>("mounted").create(inputs);
}

std::string tiers_text(const std::vector<ProgramIo::Tier>& tiers) {
  std::string text;
  for (const ProgramIo::Tier& tier : tiers) {
    text += fmt::format(
        "{} as {} (EMULATED, page cache: {}): {} opens, {} reads, {:.1f} MB, {:.2f} s of waiting, "
        "of which the device {:.2f} s\n",
        printable(tier.folder), tier.tier, tier.mode, tier.opens, tier.reads,
        1e-6 * static_cast<double>(tier.bytes_read), tier.waited_s, tier.modelled_s);
    if (tier.failed > 0) text += fmt::format("  {} of them failed\n", tier.failed);
    if (tier.overruns > 0) {
      text += fmt::format("  {} operations took longer than the model says\n", tier.overruns);
    }
  }
  return text;
}

nlohmann::json tiers_json(const std::vector<ProgramIo::Tier>& tiers) {
  nlohmann::json all = nlohmann::json::array();
  for (const ProgramIo::Tier& tier : tiers) {
    all.push_back({{"folder", to_text(tier.folder)},
                   {"tier", tier.tier},
                   {"emulated", true},
                   {"page_cache", tier.mode},
                   {"files", tier.files},
                   {"bytes", tier.bytes},
                   {"opens", tier.opens},
                   {"reads", tier.reads},
                   {"failed", tier.failed},
                   {"bytes_read", tier.bytes_read},
                   {"waited_s", tier.waited_s},
                   {"modelled_s", tier.modelled_s},
                   {"overruns", tier.overruns}});
  }
  return all;
}

}  // namespace stoker
