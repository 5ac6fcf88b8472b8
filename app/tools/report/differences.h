#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/report/run_files.h"

namespace stoker {

// A tree's leaves by their dotted paths ("loader.workers", "metrics.sinks.0.type").
using Leaves = std::map<std::string, std::string>;
// A text is itself, everything else its JSON; an empty object or list is a leaf.
Leaves leaves(const nlohmann::json& tree);

// The run's configuration without its name and directory: what makes a run what it is.
// Error(ExitCode::config) where the file is no YAML.
Leaves config_leaves(const RunFiles& run);
// environment.json without the command line, which names the configuration's file.
Leaves environment_leaves(const RunFiles& run);

// A place in which trees differ, with one value for each tree, in their order. A value is absent if
// its tree does not have the place.
struct Difference {
  std::string key;
  std::vector<std::optional<std::string>> values;
};
// All places in which not all trees agree, sorted by key.
std::vector<Difference> differences(const std::vector<Leaves>& trees);

}  // namespace stoker
