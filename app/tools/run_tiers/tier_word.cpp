#include "app/tools/run_tiers/tier_word.h"

#include <fmt/format.h>

#include "io/core/config/suggestion.h"
#include "io/storage/emulated/tier_figures.h"

namespace stoker {
namespace {

Node word_node(const std::string& text) { return parse_yaml(text, "--tier"); }

Node figures_of(const std::string& tier) {
  if (tier.starts_with('{')) {
    Node figures = word_node(tier);
    for (const char* key : {"type", "inner", "shared"}) {
      if (figures.find(key) == nullptr) continue;
      throw Error(ExitCode::config, fmt::format("--tier: {} has a '{}', which is not told here: "
                                                "leave it out",
                                                tier, key));
    }
    return figures;
  }
  std::vector<std::string> names;
  for (const auto& [name, profile] : enum_names(TierProfile())) names.emplace_back(name);
  if (std::ranges::find(names, tier) == names.end()) {
    throw Error(ExitCode::config,
                fmt::format("--tier: unknown tier '{}'{}", tier, suggestion(tier, names)));
  }
  return word_node(fmt::format("{{profile: {}}}", tier));
}

}  // namespace

TierWord parse_tier_word(const std::string& word) {
  const size_t figures = word.find("={");
  const size_t at = figures == std::string::npos ? word.rfind('=') : figures;
  if (at == std::string::npos || at == 0 || at + 1 == word.size()) {
    throw Error(ExitCode::config,
                fmt::format("--tier: '{}' is no FOLDER=TIER: give a folder and what it shall be "
                            "like, as in data/=hdd",
                            word));
  }
  return {word.substr(0, at), word.substr(at + 1)};
}

Component<Storage> tier_over(const std::string& root, const std::string& tier) {
  Node node = figures_of(tier);
  const Node rest = word_node(
      fmt::format("{{type: emulated, shared: false, inner: {{type: posix, root: {}}}}}", root));
  node.entries.insert(node.entries.begin(), rest.entries.begin(), rest.entries.end());
  Component<Storage> component;
  Field<Component<Storage>>::read(Section(node, "", "--tier", nullptr), component, {});
  return component;
}

}  // namespace stoker
