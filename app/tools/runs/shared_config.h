#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/tools/report/differences.h"

namespace stoker {

// The leaves of a configuration in parts, one for each of its members ("loader", "model"). Runs
// whose files say the same of a member share the part.
using SharedLeaves = std::vector<std::shared_ptr<const Leaves>>;
// The value of a dotted path. Null: there is none. Valid as long as the leaves live.
const std::string* find_leaf(const SharedLeaves& config, const std::string& key);

// Reads the configurations of many runs, most of whose lines are the same: each member of a mapping
// is parsed once, however many files have it, for YAML's parser takes milliseconds for a file. What
// it gives is what config_leaves() gives. Any thread.
class SharedConfigs {
 public:
  // A file's text. Empty where it is no YAML.
  SharedLeaves read(const std::string& text);
  // Forgets what nothing has a share of any more.
  void prune();

 private:
  using Part = std::shared_ptr<const Leaves>;
  // top: of a member of the whole file.
  Part part(std::string_view text, bool top);
  Leaves parse(std::string_view text);

  std::mutex mutex_;
  std::unordered_map<std::string, Part> parts_;  // by their text, with a mark for `top`
};

// For each of `runs` the leaves that no more than half of them have, with that value, by path.
std::vector<std::vector<std::pair<std::string, std::string>>> rare_leaves(
    const std::vector<const SharedLeaves*>& runs);

}  // namespace stoker
