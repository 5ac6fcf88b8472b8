#include "app/tools/report/differences.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "io/core/text/json.h"

namespace stoker {
namespace {

using nlohmann::json;

void add(const json& tree, const std::string& path, Leaves& out) {
  const auto below = [&](const std::string& name, const json& child) {
    add(child, path.empty() ? name : path + "." + name, out);
  };
  if (tree.is_object() && !tree.empty()) {
    for (const auto& [name, child] : tree.items()) below(name, child);
  } else if (tree.is_array() && !tree.empty()) {
    for (size_t i = 0; i < tree.size(); ++i) below(std::to_string(i), tree[i]);
  } else if (tree.is_string()) {
    out[path] = tree.get<std::string>();
  } else {
    out[path] = json_text(tree);
  }
}

}  // namespace

Leaves leaves(const json& tree) {
  Leaves out;
  add(tree, "", out);
  return out;
}

Leaves config_leaves(const RunFiles& run) {
  Leaves out = leaves(to_json(parse_yaml(run.config, run.path("config.yaml"))));
  out.erase("run.name");
  out.erase("run.dir");
  return out;
}

Leaves environment_leaves(const RunFiles& run) {
  json environment = run.environment;
  environment.erase("command");
  return leaves(environment);
}

std::vector<Difference> differences(const std::vector<Leaves>& trees) {
  std::set<std::string> keys;
  for (const Leaves& tree : trees) {
    for (const auto& [key, value] : tree) keys.insert(key);
  }
  std::vector<Difference> result;
  for (const std::string& key : keys) {
    Difference difference{key, {}};
    for (const Leaves& tree : trees) {
      const auto found = tree.find(key);
      difference.values.push_back(found == tree.end() ? std::nullopt
                                                      : std::optional(found->second));
    }
    if (std::ranges::adjacent_find(difference.values, std::ranges::not_equal_to{}) !=
        difference.values.end()) {
      result.push_back(std::move(difference));
    }
  }
  return result;
}

}  // namespace stoker
