#include "app/arena/options.h"

#include <filesystem>
#include <set>

namespace stoker {

void ArenaOptions::check(const Section& section) const {
  const bool plain = !name.empty() && name.front() != '.' && name.size() <= 100 &&
                     name.find('/') == std::string::npos;
  if (!plain) section.fail("name", "must be usable as the name of a directory, got '" + name + "'");
  if (entries.empty()) section.fail("entries", "must not be empty");
  std::set<std::string> names, references;
  for (size_t i = 0; i < entries.size(); ++i) {
    const ArenaEntry& entry = entries[i];
    const Node& node = section.node().find("entries")->items[i];
    const Section at(node, "entries", std::to_string(i), section.context());
    if (entry.name.empty()) at.fail("name", "must not be empty");
    if (!names.insert(entry.name).second) {
      at.fail("name", "must be given once, got '" + entry.name + "' again");
    }
    if (!entry.reference) continue;
    if (entry.pixels.empty()) at.fail("reference", "needs 'pixels', which writes them");
    if (!references.insert(entry.klass).second) {
      at.fail("reference", "must be said once in a class, got two in '" + entry.klass + "'");
    }
  }
}

ArenaOptions read_arena(const std::string& path, const std::vector<std::string>& overrides) {
  Node root = load_yaml(path);
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  ArenaOptions options;
  read_struct(Section(root, "", "", nullptr), options);
  options.here = std::filesystem::absolute(path).parent_path();
  return options;
}

}  // namespace stoker
