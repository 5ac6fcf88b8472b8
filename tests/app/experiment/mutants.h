#pragma once

#include <set>

#include "tests/app/experiment/config_tokens.h"
#include "tests/app/experiment/slips.h"
#include "tests/app/experiment/value_fits.h"

namespace stoker {

struct Mutant {
  std::string text = {};  // of the whole file, or of the override
  Expected expected = Expected::either;
  std::set<std::string> places = {};  // where the message may point to; empty: anywhere
  std::set<std::string> hints = {};   // one of which it has to name; empty: none is expected
  std::string what = {};              // for people
};

// All mutants of one configuration. Those of another type, given twice, or cut off are of the file
// only.
class Mutants {
 public:
  Mutants(std::string text, const std::string& path)
      : text_(std::move(text)), path_(path), root_(parse_yaml(text_, path)), tokens_(text_, root_) {
    for (const ConfigToken& token : tokens_.tokens()) {
      const bool anything = token.role == Role::value && token.type == "text";
      const size_t step = anything ? 20 : 1;
      const std::vector<Slip> slips = slips_of(token.text);
      for (size_t i = 0; i < slips.size(); i += step) add_slip(token, slips[i]);
      if (token.is_value) add_other_types(token);
      if (token.is_key) add_key(token);
      mutants_.push_back(
          {.text = text_.substr(0, token.offset), .what = "cut off before " + token.text});
    }
  }

  const std::vector<Mutant>& of_file() const { return mutants_; }

  // Overrides of every value that the experiment has.
  std::vector<Mutant> of_overrides() const {
    std::vector<Mutant> result;
    if (!tokens_.schema().is_sweep()) add_overrides(root_, "", root_, result);
    return result;
  }

 private:
  using Role = ConfigToken::Role;

  std::string replaced(size_t offset, size_t size, const std::string& by) const {
    return text_.substr(0, offset) + by + text_.substr(offset + size);
  }

  // The words of which the slip may be meant to be one.
  static std::set<std::string> meant(const ConfigToken& token, const std::string& slip) {
    std::set<std::string> hints = {token.text};
    for (const std::string& word : token.words) {
      if (one_slip(word, slip)) hints.insert(word);
    }
    return hints;
  }

  // A hint can be expected where enough of the word is left, and other words do not begin as it
  // does.
  static bool tells(const ConfigToken& token, const std::string& slip) {
    if (token.text.size() < 3 || slip.size() < 2) return false;
    return one_slip(token.text, slip) || std::ranges::none_of(token.words, [&](const auto& word) {
             return word != token.text && word.starts_with(slip);
           });
  }

  Mutant judged(const ConfigToken& token, const Slip& slip) const {
    Mutant mutant{.places = {token.at.text()}, .what = token.text + " -> " + slip.text};
    const bool known = std::ranges::find(token.words, slip.text) != token.words.end();
    if (token.role == Role::word && !known) {
      mutant.expected = Expected::wrong;
      if (slip.near && tells(token, slip.text)) mutant.hints = meant(token, slip.text);
    } else if (token.role == Role::value) {
      mutant.expected = fits(token.type, slip.text);
      if (token.text == "auto" && slip.near && tells(token, slip.text)) mutant.hints = {"auto"};
    }
    if (mutant.expected != Expected::wrong) {
      for (const Position& at : token.related) mutant.places.insert(at.text());
    }
    return mutant;
  }

  void add_slip(const ConfigToken& token, const Slip& slip) {
    Mutant mutant = judged(token, slip);
    mutant.text = replaced(token.offset, token.text.size(), slip.text);
    // Without any likeness it is only seen that a key is missing.
    if (token.is_key && !slip.near) mutant.places.insert(token.mapping->at.text());
    if (token.is_key && token.mapping->find(slip.text) != nullptr) {
      mutant.expected = Expected::wrong;
      mutant.hints = {};
      for (const Node::Entry& entry : token.mapping->entries) {
        if (entry.key == slip.text) mutant.places.insert(entry.at.text());
      }
    } else if (token.role == Role::free || mutant.expected != Expected::wrong) {
      // Plots and findings of a sweep may refer to it.
      for (const ConfigToken& other : tokens_.tokens()) {
        if (other.text == token.text && other.offset != token.offset) {
          mutant.places.insert(other.at.text());
        }
      }
      if (token.role == Role::free && slip.near && tells(token, slip.text)) {
        mutant.hints = {slip.text, token.text};
      }
    }
    mutants_.push_back(std::move(mutant));
  }

  void add_other_types(const ConfigToken& token) {
    const size_t offset = token.offset - (token.quoted ? 1 : 0);
    const size_t size = token.text.size() + (token.quoted ? 2 : 0);
    const std::string raw = text_.substr(offset, size);
    const bool fixed = token.role == Role::word || token.type == "text" ||
                       token.type.starts_with("integer") || token.type.starts_with("number");
    const bool in_sweep = tokens_.schema().is_sweep() && token.type.empty();
    const bool no_text = token.type == "true|false" || token.type.starts_with("integer") ||
                         token.type.starts_with("number");
    std::set<std::string> related = {token.at.text()};
    for (const Position& at : token.related) related.insert(at.text());
    const auto add = [&](const std::string& text, bool wrong) {
      mutants_.push_back({.text = replaced(offset, size, text),
                          .expected = wrong ? Expected::wrong : Expected::either,
                          .places = wrong ? std::set{token.at.text()} : related,
                          .what = raw + " -> " + text});
    };
    add("[" + raw + "]", fixed && !in_sweep);
    add("{zzz: " + raw + "}", fixed);
    add("~", false);
    if (!token.quoted) add("\"" + raw + "\"", no_text);
  }

  // A key that is given twice; and a list or a mapping in one line that becomes a number.
  void add_key(const ConfigToken& token) {
    const size_t begin = text_.rfind('\n', token.offset) + 1;
    const size_t offset = token.offset - (token.quoted ? 1 : 0);
    const bool first = text_.substr(begin, offset - begin).find_first_not_of(" -") == text_.npos;
    const std::string again = (token.quoted ? "\"" + token.text + "\"" : token.text) + ": x";
    Position second = token.at;
    second.line += first ? 1 : 0;
    second.column += first ? 0 : static_cast<int>(again.size()) + 2;
    const std::string between = first ? "\n" + std::string(offset - begin, ' ') : ", ";
    mutants_.push_back({.text = replaced(offset, 0, again + between),
                        .expected = Expected::wrong,
                        .places = {second.text()},
                        .what = token.text + " twice"});
    const Node& value = *token.node;
    if (value.kind == Node::Kind::scalar || value.kind == Node::Kind::null) return;
    const size_t open = tokens_.offset(value.at);
    if (text_[open] != '{' && text_[open] != '[') return;
    mutants_.push_back({.text = replaced(open, end_of(open) - open, "7"),
                        .expected = Expected::wrong,
                        .places = {value.at.text()},
                        .what = token.text + " -> 7"});
  }

  // Behind the bracket that closes the one at `open`.
  size_t end_of(size_t open) const {
    int depth = 0;
    bool quoted = false;
    for (size_t at = open; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return at + 1;
    }
    return text_.size();
  }

  void add_overrides(const Node& node, const std::string& path, const Node& parent,
                     std::vector<Mutant>& result) const {
    for (const Node::Entry& entry : node.entries) {
      add_overrides(entry.value, path + (path.empty() ? "" : ".") + entry.key, node, result);
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      add_overrides(node.items[i], path + "." + std::to_string(i), node, result);
    }
    if (node.kind != Node::Kind::scalar) return;
    const auto add = [&](Mutant mutant, bool related) {
      mutant.places = {"override '" + mutant.text + "'"};
      if (related) {
        for (const Position& at : places_of(parent)) mutant.places.insert(at.text());
      }
      result.push_back(std::move(mutant));
    };
    const std::string text = path + "=" + node.scalar;
    for (const ConfigToken& part : tokens_.of_override(text, node.at, 0)) {
      for (const Slip& slip : slips_of(part.text)) {
        Mutant mutant = judged(part, slip);
        mutant.text =
            text.substr(0, part.offset) + slip.text + text.substr(part.offset + part.text.size());
        const bool related = mutant.expected != Expected::wrong;
        add(std::move(mutant), related);
      }
    }
    add({.text = path, .expected = Expected::wrong, .what = path}, false);
    add({.text = path + "={a: 1", .expected = Expected::wrong, .what = "a bracket"}, false);
    add({.text = path + "=", .what = path + "="}, true);
  }

  const std::string text_;
  const std::string path_;
  const Node root_;
  const ConfigTokens tokens_;
  std::vector<Mutant> mutants_;
};

}  // namespace stoker
