#include "app/tools/size/tier_file.h"

#include <algorithm>
#include <filesystem>

#include "io/core/config/config.h"

namespace stoker {

NamedTier read_tier_file(const std::string& path, const Notify& notify) {
  Node node = load_yaml(path);
  if (const Node* why = node.find("why")) {
    notify(path + ": what was fitted does not behave like the tier (" + why->scalar +
           "); its row is as uncertain");
  }
  if (const Node* fitted = node.find("yaml")) node = parse_yaml(fitted->scalar, path);
  // Of an emulated tier; what it is emulated on says nothing of its speed.
  std::erase_if(node.entries, [](const Node::Entry& entry) {
    return entry.key == "type" || entry.key == "inner" || entry.key == "shared";
  });
  NamedTier result{std::filesystem::path(path).stem().string(), {}};
  read_struct(Section(node, "", "", nullptr), result.tier);
  return result;
}

}  // namespace stoker
