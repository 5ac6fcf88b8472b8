#include "app/experiment_options.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "app/experiment_tree.h"
#include "io/core/plugin.h"

namespace stoker {
namespace {

// Before the rest is read: the rest may name their types.
void load_plugins(const Node& root) {
  const Node* list = root.find("plugins");
  if (list == nullptr) return;
  std::vector<Path> plugins;
  Field<std::vector<Path>>::read(Section(*list, "", "plugins", nullptr), plugins, {});
  for (const Path& plugin : plugins) load_plugin(plugin.value);
}

}  // namespace

EnumNames<PageCache> enum_names(PageCache) {
  return {{"as_is", PageCache::as_is}, {"cold", PageCache::cold}, {"warm", PageCache::warm}};
}

void RunOptions::check(const Section& section) const {
  const bool plain = !name.empty() && name.front() != '.' && name.size() <= 100 &&
                     name.find('/') == std::string::npos;
  if (!plain) section.fail("name", "must be usable as the name of a directory, got '" + name + "'");
  if (drop_caches && page_cache != PageCache::cold) {
    section.fail("drop_caches", "is for page_cache: cold");
  }
}

ExperimentOptions read_experiment(const std::string& path,
                                  const std::vector<std::string>& overrides) {
  return read_experiment_tree(load_yaml(path), overrides);
}

ExperimentOptions read_experiment_tree(Node root, const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  load_plugins(root);
  ConfigContext context;
  if (const Node* tiers = root.find("storage")) {
    for (const Node::Entry& tier : tiers->entries) context.tiers.push_back(tier.key);
  }
  ExperimentOptions options;
  read_struct(Section(root, "", "", &context), options);
  return options;
}

std::string resolved_yaml(const ExperimentOptions& options) {
  return to_yaml(dump_struct(options)) + "\n";
}

std::string config_hash(const ExperimentOptions& options) {
  const std::string text = resolved_yaml(options);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace stoker
