#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/sweep/sweep_options.h"
#include "tests/app/experiment/described.h"

namespace stoker {

// What may stand where in one configuration, from what `stoker list` and `stoker describe` say: the
// oracle of the mutation test, which knows nothing of how the program suggests. A value.
class ConfigSchema {
 public:
  using Names = std::vector<std::string>;

  explicit ConfigSchema(const Node& root) {
    is_sweep_ = root.find("base") != nullptr;
    add_experiment(is_sweep_ ? *root.find("base") : root, experiment());
    if (!is_sweep_) return;
    add_rows(rows_of<SweepOptions>(), "", root);
    free_.insert({{"figures", {}}, {"matrix", {}}});
    for (const Node::Entry& axis : root.find("matrix")->entries) add_axis(axis);
    add_list(root, "prepare", rows_of<SweepPreparation>());
    add_list(root, "plots", rows_of<PlotOptions>());
    add_list(root, "findings", rows_of<FindingOptions>());
  }

  bool is_sweep() const { return is_sweep_; }
  // Where the experiment begins: "base.", or nothing.
  std::string experiment() const { return is_sweep_ ? "base." : ""; }
  // The keys of the mapping at a path that ends with a point, or is empty; null: not known.
  const Names* keys(const std::string& mapping) const {
    const auto found = keys_.find(mapping);
    return found == keys_.end() ? nullptr : &found->second;
  }
  // Names that the file makes up, and refers to elsewhere.
  bool free(const std::string& mapping) const { return free_.contains(mapping); }
  // What describe says of a value; empty: nothing.
  std::string type(const std::string& path) const {
    const auto found = types_.find(path);
    return found == types_.end() ? "" : found->second;
  }
  // All words that may stand at a path; empty: it is no matter of certain words.
  Names words(const std::string& path) const {
    const std::string text = type(path);
    if (text == "name of a tier") return tiers_;
    if (text.find('|') == std::string::npos || text.find(' ') != std::string::npos) return {};
    return split(text, '|');
  }
  const std::map<std::string, Names>& axes() const { return axes_; }

  static Names split(const std::string& text, char between) {
    Names parts(1);
    for (const char c : text) {
      if (c == between) {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    return parts;
  }

 private:
  using Rows = std::vector<FieldHelp>;

  void add_key(const std::string& mapping, const std::string& key) {
    Names& known = keys_[mapping];
    if (std::ranges::find(known, key) == known.end()) known.push_back(key);
  }

  void add_experiment(const Node& root, const std::string& prefix) {
    if (const Node* tiers = root.find("storage")) {
      for (const Node::Entry& tier : tiers->entries) tiers_.push_back(tier.key);
    }
    add_rows(described({"describe", "--json"}), prefix, root);
  }

  void add_rows(const Rows& rows, const std::string& prefix, const Node& node) {
    for (const FieldHelp& row : rows) {
      std::string mapping = prefix;
      const Node* value = &node;
      for (const std::string& key : split(row.key, '.')) {
        add_key(mapping, key);
        mapping += key + ".";
        if (value != nullptr) value = value->find(key);
      }
      const std::string path = prefix + row.key;
      types_[path] = row.type;
      const size_t component = row.type.find("{type: <");
      if (value == nullptr || component == std::string::npos) continue;
      const size_t begin = component + 8;
      const std::string kind = row.type.substr(begin, row.type.find('>') - begin);
      if (component == 0) add_component(kind, path, *value, row.fallback);
      if (row.type.starts_with("names")) free_.insert({path, {}});
      for (const Node::Entry& entry : value->entries) {
        if (component > 0) add_component(kind, path + "." + entry.key, entry.value, "");
        if (component > 0) add_key(path + ".", entry.key);
      }
      for (size_t i = 0; i < value->items.size(); ++i) {
        add_component(kind, path + "." + std::to_string(i), value->items[i], "");
      }
    }
  }

  void add_component(const std::string& kind, const std::string& path, const Node& node,
                     const std::string& fallback) {
    const Node* type = node.find("type");
    std::string name = type != nullptr ? type->scalar : "";
    if (name.empty()) name = parse_yaml(fallback, "default").find("type")->scalar;
    add_key(path + ".", "type");
    types_[path + ".type"] = types_of(kind);
    add_rows(described({"describe", kind, name, "--json"}), path + ".", node);
  }

  void add_axis(const Node::Entry& axis) {
    Names& values = axes_[axis.key];
    for (const Node& value : axis.value.items) values.push_back(value.scalar);
    for (const Node::Entry& variant : axis.value.entries) values.push_back(variant.key);
    free_.insert({"matrix." + axis.key, {}});
  }

  // A list of structs.
  void add_list(const Node& parent, const std::string& key, const Rows& rows,
                const std::string& prefix = "") {
    const Node* list = parent.find(key);
    if (list == nullptr) return;
    for (size_t i = 0; i < list->items.size(); ++i) {
      const std::string path = prefix + key + "." + std::to_string(i) + ".";
      add_rows(rows, path, list->items[i]);
      if (key == "plots") add_list(list->items[i], "published", rows_of<PublishedSeries>(), path);
    }
  }

  bool is_sweep_ = false;
  std::map<std::string, Names> keys_;
  std::map<std::string, Names> free_;
  std::map<std::string, std::string> types_;
  std::map<std::string, Names> axes_;
  Names tiers_;
};

}  // namespace stoker
