#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/app/experiment/config_schema.h"
#include "tests/app/experiment/config_token.h"

namespace stoker {

// The words of a configuration that was parsed from `text`.
class ConfigTokens {
 public:
  ConfigTokens(const std::string& text, const Node& root) : text_(text), schema_(root) {
    lines_ = {0};
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(i + 1);
    }
    if (const Node* matrix = root.find("matrix")) {
      for (const Node::Entry& axis : matrix->entries) add_replaced(axis.value);
    }
    walk(root, "");
  }

  const std::vector<ConfigToken>& tokens() const { return tokens_; }
  const ConfigSchema& schema() const { return schema_; }
  size_t offset(const Position& at) const {
    return lines_.at(static_cast<size_t>(at.line) - 1) + static_cast<size_t>(at.column) - 1;
  }

  // Those of "a.b=value", an override of the experiment. base: what offsets count from.
  std::vector<ConfigToken> of_override(const std::string& text, const Position& at,
                                       size_t base) const {
    using Role = ConfigToken::Role;
    std::vector<ConfigToken> parts;
    const size_t equals = text.find('=');
    std::string path = schema_.experiment();
    size_t offset = base;
    for (const std::string& key : ConfigSchema::split(text.substr(0, equals), '.')) {
      const ConfigSchema::Names* known = schema_.keys(path);
      const bool number = key.find_first_not_of("0123456789") == std::string::npos;
      const Role role = known == nullptr || number ? Role::unknown : Role::word;
      parts.push_back({role, key, offset, at, known ? *known : ConfigSchema::Names{}});
      offset += key.size() + 1;
      path += key + ".";
    }
    path.pop_back();
    const std::string value = text.substr(equals + 1);
    const bool plain = !value.empty() && value.find_first_of("[{\"'") == std::string::npos;
    if (plain) parts.push_back(value_of(path, value, offset, at));
    return parts;
  }

 private:
  using Role = ConfigToken::Role;

  ConfigToken value_of(const std::string& path, const std::string& text, size_t offset,
                       const Position& at) const {
    ConfigSchema::Names words = schema_.words(path);
    if (path.ends_with("dataset.fetch")) words = {text};  // described as text; the data sets known
    const std::string type = schema_.type(path);
    const Role role = !words.empty() ? Role::word : type.empty() ? Role::unknown : Role::value;
    return {role, text, offset, at, words, type};
  }

  // The keys that all values of an axis set: what the base says there is never used.
  void add_replaced(const Node& axis) {
    std::map<std::string, size_t> count;
    for (const Node::Entry& value : axis.entries) {
      for (const Node& setting : value.value.items) {
        const std::string key = setting.scalar.substr(0, setting.scalar.find('='));
        if (++count[key] == axis.entries.size()) replaced_.insert("base." + key);
      }
    }
  }

  void add(ConfigToken token, const Position& at) {
    token.at = at;
    token.offset = offset(at) + (token.quoted ? 1 : 0);
    // The oracle of the places: what stands in the text where the tree says.
    EXPECT_EQ(text_.substr(token.offset, token.text.size()), token.text) << at.text();
    tokens_.push_back(std::move(token));
  }

  void walk(const Node& node, const std::string& prefix) {
    for (const Node::Entry& entry : node.entries) {
      ConfigToken key{Role::unknown, entry.key};
      const std::string mapping = prefix.substr(0, prefix.size() - !prefix.empty());
      if (schema_.free(mapping)) {
        key.role = Role::free;
      } else if (is_pattern(mapping)) {
        key.role = Role::word;
        for (const auto& [axis, values] : schema_.axes()) key.words.push_back(axis);
      } else if (const ConfigSchema::Names* known = schema_.keys(prefix)) {
        key.role = Role::word;
        key.words = *known;
      }
      key.is_key = true;
      key.mapping = &node;
      key.node = &entry.value;
      key.quoted = text_[offset(entry.at)] == '"';
      add(std::move(key), entry.at);
      visit(entry.value, prefix + entry.key, entry.key, node);
    }
  }

  void visit(const Node& value, const std::string& path, const std::string& key,
             const Node& parent) {
    walk(value, path + ".");
    for (size_t i = 0; i < value.items.size(); ++i) {
      visit(value.items[i], path + "." + std::to_string(i), key, value);
    }
    if (value.kind != Node::Kind::scalar) return;
    if (is_setting(path)) return add_setting(value);
    ConfigToken token = value_of(path, value.scalar, 0, {});
    const std::string mapping = path.substr(0, path.rfind('.' + key));
    if (const auto words = words_of_sweep(path, mapping, key)) {
      token.role = Role::word;
      token.words = *words;
      token.type = {};
    }
    if (replaced_.contains(path)) token = {Role::unknown, value.scalar};
    token.is_value = true;
    token.quoted = value.quoted;
    token.node = &value;
    token.related = places_of(parent);
    add(std::move(token), value.at);
  }

  // {tier: hdd} in a plot or a finding.
  bool is_pattern(const std::string& mapping) const {
    if (!mapping.starts_with("plots.") && !mapping.starts_with("findings.")) return false;
    const std::string last = mapping.substr(mapping.rfind('.') + 1);
    return last == "where" || last == "relative_to" || last == "of" || last == "over" ||
           last == "less" || last == "among";
  }

  bool is_setting(const std::string& path) const {
    if (!schema_.is_sweep()) return false;
    if (path.starts_with("set.") || path.starts_with("arguments.")) return true;
    if (path.starts_with("prepare.")) return path.find(".run.") != std::string::npos;
    if (!path.starts_with("matrix.")) return path == "command";
    for (const auto& [axis, values] : schema_.axes()) {
      for (const std::string& value : values) {
        if (path.starts_with("matrix." + axis + "." + value + ".")) return true;
      }
    }
    return false;
  }

  std::optional<ConfigSchema::Names> words_of_sweep(const std::string& path,
                                                    const std::string& mapping,
                                                    const std::string& key) const {
    if (is_pattern(mapping) && schema_.axes().contains(key)) return schema_.axes().at(key);
    if (!path.starts_with("plots.") || (key != "x" && key != "series")) return std::nullopt;
    if (path.find(".published.") != std::string::npos) return std::nullopt;
    ConfigSchema::Names names;
    if (key == "x") names.push_back("time");
    for (const auto& [axis, values] : schema_.axes()) names.push_back(axis);
    return names;
  }

  // "checkpoint.type=direct", "--threads=2", "bench read", "synth".
  void add_setting(const Node& value) {
    const size_t begin = offset(value.at) + (value.quoted ? 1 : 0);
    const std::string& text = value.scalar;
    const size_t equals = text.find('=');
    std::vector<ConfigToken> parts;
    if (text.starts_with("--")) {
      const std::string name = text.substr(2, equals - 2);
      parts.push_back({Role::word, name, begin + 2, value.at, {name}});
      if (equals != text.npos) {
        parts.push_back({Role::unknown, text.substr(equals + 1), begin + equals + 1, value.at});
      }
    } else if (equals != text.npos) {
      parts = of_override(text, value.at, begin);
    } else {
      size_t at = begin;
      for (const std::string& word : ConfigSchema::split(text, ' ')) {
        const Role role = word.find('/') == word.npos ? Role::word : Role::unknown;
        parts.push_back({role, word, at, value.at, {word}});
        at += word.size() + 1;
      }
    }
    tokens_.insert(tokens_.end(), parts.begin(), parts.end());
  }

  const std::string& text_;
  const ConfigSchema schema_;
  std::vector<size_t> lines_;
  std::set<std::string> replaced_;
  std::vector<ConfigToken> tokens_;
};

}  // namespace stoker
