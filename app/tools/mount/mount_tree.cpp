#include "app/tools/mount/mount_tree.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "io/core/text/text.h"

namespace stoker {
namespace {

// The parts of a key between the slashes, as bytes. Empty: it is no path.
std::optional<std::vector<std::string>> path_of(std::string_view key) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= key.size();) {
    const size_t end = std::min(key.find('/', begin), key.size());
    std::string part = from_text(key.substr(begin, end - begin));
    if (part.empty() || part == "." || part == ".." || part.size() > NAME_MAX ||
        part.find('/') != std::string::npos || part.find('\0') != std::string::npos) {
      return std::nullopt;
    }
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

MountTree::MountTree(const std::vector<ObjectInfo>& objects) : nodes_(1) {
  // Objects of one directory stand one after the other: those above the last one are enough to
  // find the next.
  std::vector<Entry> above;
  for (const ObjectInfo& object : objects) {
    std::string_view key = object.key;
    const bool directory = key.ends_with('/');
    if (directory) key.remove_suffix(1);
    auto parts = path_of(key);
    if (!parts) {
      ++left_out_;
      continue;
    }
    std::string name;
    if (!directory) {
      name = std::move(parts->back());
      parts->pop_back();
    }
    size_t same = 0;
    while (same < std::min(above.size(), parts->size()) && above[same].name == (*parts)[same]) {
      ++same;
    }
    above.resize(same);
    for (size_t i = same; i < parts->size(); ++i) {
      const uint64_t in = above.empty() ? 1 : above.back().number;
      above.push_back({(*parts)[i], add(in, (*parts)[i], {})});
    }
    if (directory) continue;
    add(above.empty() ? 1 : above.back().number, std::move(name),
        {.directory = false, .bytes = object.bytes, .key = object.key});
    ++files_;
    bytes_ += object.bytes;
  }
  // Directories come first among equals, so that what they hold can be reached.
  const auto before = [&](const Entry& a, const Entry& b) {
    if (a.name != b.name) return a.name < b.name;
    return nodes_[a.number - 1].directory && !nodes_[b.number - 1].directory;
  };
  for (Node& node : nodes_) {
    std::ranges::sort(node.entries, before);
    std::vector<Entry> kept;
    for (Entry& entry : node.entries) {
      if (kept.empty() || kept.back().name != entry.name) {
        kept.push_back(std::move(entry));
      } else {
        --files_;
        ++left_out_;
        bytes_ -= nodes_[entry.number - 1].bytes;
      }
    }
    node.entries = std::move(kept);
  }
}

uint64_t MountTree::add(uint64_t directory, std::string name, Node node) {
  node.parent = directory;
  nodes_.push_back(std::move(node));
  nodes_[directory - 1].entries.push_back({std::move(name), nodes_.size()});
  return nodes_.size();
}

uint64_t MountTree::find(uint64_t directory, std::string_view name) const {
  const Node* const in = node(directory);
  if (in == nullptr) return 0;
  const auto found = std::ranges::lower_bound(in->entries, name, {}, &Entry::name);
  return found != in->entries.end() && found->name == name ? found->number : 0;
}

}  // namespace stoker
