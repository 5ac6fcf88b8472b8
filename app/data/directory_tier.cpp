#include "app/data/directory_tier.h"

namespace stoker {

std::unique_ptr<Storage> open_directory(const std::string& root) {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text("posix")});
  node.entries.push_back({"root", {}, Node::text(root)});
  return Registry<Storage>::global().parse(Section(node, "", "storage", nullptr)).create({});
}

}  // namespace stoker
