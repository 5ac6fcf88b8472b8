#include "app/tools/sweep/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr size_t kLongestName = 100;
constexpr std::array<std::string_view, 7> kOfSweep{
    "name", "repeat", "drop_first", "interleave", "command", "arguments", "figures"};

Node plain_list(const std::vector<std::string>& texts) {
  Node node(Node::Kind::sequence, {});
  for (const std::string& text : texts) node.items.push_back(Node::text(text));
  return node;
}

// {"1": ["loader.workers=1"], ...}; numbers of ranks are no setting, but another command.
Node axis_of(const std::string& key, const std::vector<std::string>& values) {
  if (key == "ranks") return plain_list(values);
  Node variants = Node::map();
  for (const std::string& value : values) {
    variants.entries.push_back({value, {}, plain_list({key + "=" + value})});
  }
  return variants;
}

Node* mapping_at(Node& node, const std::string& key) {
  for (Node::Entry& entry : node.entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

// Those of a mapping that a list names. False: it names another, or is no list of names.
bool keep_named(Node& variants, const Node& names) {
  if (variants.kind != Node::Kind::mapping || names.kind != Node::Kind::sequence) return false;
  Node kept = Node::map();
  kept.at = variants.at;
  for (const Node& name : names.items) {
    const auto found = std::ranges::find(variants.entries, name.scalar, &Node::Entry::key);
    if (found == variants.entries.end()) return false;
    kept.entries.push_back(*found);
  }
  variants = kept;
  return true;
}

}  // namespace

bool is_experiment(const Node& root) {
  return root.find("dataset") != nullptr && root.find("base") == nullptr;
}

std::vector<std::string> values_in(const std::string& text) {
  std::vector<std::string> values = parts_outside_brackets(text, ',');
  for (std::string& value : values)
    value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
  return values;
}

Node grid_of(const std::string& path, const std::vector<std::string>& words) {
  Node root = Node::map();
  Node matrix = Node::map();
  std::vector<std::string> set, own;
  std::string name = std::filesystem::path(path).stem().string();
  for (const std::string& word : words) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals);
    const auto values = values_in(word.substr(std::min(word.size(), equals + 1)));
    if (std::ranges::find(kOfSweep, key) != kOfSweep.end()) {
      own.push_back(word);
    } else if (values.size() == 1 && key != "ranks") {
      set.push_back(word);
    } else {
      matrix.entries.push_back({key, {}, axis_of(key, values)});
      name += "-" + key;
    }
  }
  if (matrix.entries.empty()) {
    throw Error(
        ExitCode::config,
        fmt::format("{0}: this is an experiment, and no sweep: run it by `stoker train {0}`, "
                    "name it as the base of a sweep, or give an axis with its values, as in "
                    "`stoker sweep {0} loader.workers=1,2,4`",
                    path));
  }
  std::ranges::replace(name, '/', '-');
  root.entries.push_back({"name", {}, Node::text(name.substr(0, kLongestName))});
  root.entries.push_back({"base", {}, Node::text(path)});
  root.entries.push_back({"set", {}, plain_list(set)});
  root.entries.push_back({"matrix", {}, std::move(matrix)});
  for (const std::string& word : own) apply_override(root, word);
  return root;
}

bool replace_axis(Node& root, const std::string& assignment) {
  constexpr std::string_view kMatrix = "matrix.";
  const size_t equals = assignment.find('=');
  Node* const matrix = mapping_at(root, "matrix");
  if (!assignment.starts_with(kMatrix) || equals == assignment.npos || matrix == nullptr) {
    return false;
  }
  const std::string key = assignment.substr(kMatrix.size(), equals - kMatrix.size());
  Node value = Node::map();
  apply_override(value, "values" + assignment.substr(equals));
  const Node& values = *value.find("values");
  if (Node* const axis = mapping_at(*matrix, key)) {
    if (!keep_named(*axis, values)) *axis = values;
    return true;
  }
  // A variant of an axis, or an axis that is new.
  const std::string first = key.substr(0, key.find('.'));
  if (first == key || mapping_at(*matrix, first) != nullptr) return false;
  matrix->entries.push_back({key, {}, values});
  return true;
}

}  // namespace stoker
