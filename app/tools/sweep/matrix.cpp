#include "app/tools/sweep/matrix.h"

#include <fmt/format.h>

#include <algorithm>

namespace stoker {
namespace {

const std::string& plain_scalar(const Section& at) {
  if (at.node().kind != Node::Kind::scalar) at.fail("must be a plain value");
  return at.node().scalar;
}

// One value, or a list of them.
std::vector<Word> plain_scalars(const Section& at) {
  if (at.node().kind != Node::Kind::sequence) return {{plain_scalar(at), at.node().at}};
  std::vector<Word> words;
  for (size_t i = 0; i < at.node().items.size(); ++i) {
    const Node& item = at.node().items[i];
    words.push_back({plain_scalar(at.child(std::to_string(i), item)), item.at});
  }
  return words;
}

void check_setting(const Word& word, const Section& variant) {
  const std::string& text = word.text;
  if (text.starts_with("--") || text.find('=') != text.npos || is_sweep_command(text)) return;
  variant.fail_at(
      word.at, "'" + text + "' must be a.b=c, --a=b, or another command: train, launch, bench ..." +
                   did_you_mean(text.substr(0, text.find(' ')), {"train", "launch", "bench"}));
}

SweepAxis read_axis(const Node::Entry& axis_entry, const Section& at) {
  const Node& node = at.node();
  const std::string& key = axis_entry.key;
  SweepAxis axis{key, {}};
  if (node.kind == Node::Kind::sequence) {
    const std::vector<Word> names = plain_scalars(at);
    for (size_t i = 0; i < names.size(); ++i) {
      const Position& value = node.items[i].at;
      const std::string setting = key + "=" + to_yaml(node.items[i]);
      std::vector<Word> settings{{setting, axis_entry.at, value}};
      // No key of an experiment: the same file trains on any number of them.
      if (key == "ranks")
        settings = {{"launch", axis_entry.at, value}, {"--" + setting, axis_entry.at, value}};
      axis.values.push_back({names[i].text, std::move(settings)});
    }
  } else if (node.kind == Node::Kind::mapping) {
    for (const Node::Entry& entry : node.entries) {
      AxisValue& value = axis.values.emplace_back(AxisValue{entry.key, {}});
      const Section variant = at.child(entry.key, entry.value);
      Field<std::vector<Word>>::read(variant, value.settings, {});
      for (const Word& word : value.settings) check_setting(word, variant);
    }
  } else {
    at.fail("must be a list of values, [1, 2], or variants, {name: [a.b=c]}");
  }
  if (axis.values.empty()) at.fail("needs at least one value");
  for (size_t i = 0; i < axis.values.size(); ++i) {
    const std::string& name = axis.values[i].name;
    if (axis.find(name) != i) at.fail("has the value '" + name + "' twice");
  }
  return axis;
}

Node list_of(const std::vector<std::string>& texts) {
  return Field<std::vector<std::string>>::dump(texts);
}

}  // namespace

void Field<Word>::read(const Section& at, Word& out, Limits limits) {
  Field<std::string>::read(at, out.text, limits);
  out.at = out.value_at = at.node().at;
}

std::vector<std::string> texts(const std::vector<Word>& words) {
  std::vector<std::string> result;
  result.reserve(words.size());
  for (const Word& word : words) result.push_back(word.text);
  return result;
}

bool is_sweep_command(const std::string& text) {
  return text == "train" || text == "launch" || text == kSimulate || text.starts_with("bench ");
}

size_t SweepAxis::find(const std::string& name) const {
  const auto found = std::ranges::find(values, name, &AxisValue::name);
  return found == values.end() ? std::string::npos : static_cast<size_t>(found - values.begin());
}

std::vector<std::string> SweepAxis::names() const {
  std::vector<std::string> names;
  for (const AxisValue& value : values) names.push_back(value.name);
  return names;
}

const SweepAxis* SweepMatrix::find(const std::string& key) const {
  const auto found = std::ranges::find(axes, key, &SweepAxis::key);
  return found == axes.end() ? nullptr : &*found;
}

std::vector<std::string> SweepMatrix::keys() const {
  std::vector<std::string> result;
  for (const SweepAxis& axis : axes) result.push_back(axis.key);
  return result;
}

void Field<SweepMatrix>::read(const Section& at, SweepMatrix& out, Limits) {
  if (at.node().kind != Node::Kind::mapping) at.fail("must be a mapping of axes");
  for (const Node::Entry& entry : at.node().entries) {
    out.axes.push_back(read_axis(entry, at.child(entry.key, entry.value)));
  }
  if (out.axes.empty()) at.fail("needs at least one axis");
}

Node Field<SweepMatrix>::dump(const SweepMatrix& value) {
  Node node = Node::map();
  for (const SweepAxis& axis : value.axes) {
    Node variants = Node::map();
    for (const AxisValue& one : axis.values) {
      variants.entries.push_back({one.name, {}, list_of(texts(one.settings))});
    }
    node.entries.push_back({axis.key, {}, std::move(variants)});
  }
  return node;
}

bool CellPattern::matches(const Coordinates& cell) const {
  return std::ranges::all_of(terms, [&](const Term& term) {
    const auto found = cell.find(term.axis.text);
    return found != cell.end() &&
           std::ranges::find(term.names, found->second, &Word::text) != term.names.end();
  });
}

bool CellPattern::fixes(const std::string& axis) const {
  return std::ranges::any_of(
      terms, [&](const Term& term) { return term.axis.text == axis && term.names.size() == 1; });
}

void CellPattern::check(const SweepMatrix& matrix, const Section& section) const {
  for (const Term& term : terms) {
    const std::string& key = term.axis.text;
    const SweepAxis* axis = matrix.find(key);
    if (axis == nullptr) {
      section.fail_at(term.axis.at,
                      "'" + key + "' is no axis of the matrix" + suggestion(key, matrix.keys()));
    }
    for (const Word& name : term.names) {
      if (axis->find(name.text) != std::string::npos) continue;
      section.fail_at(name.at, "'" + key + "' has no value '" + name.text + "'" +
                                   suggestion(name.text, axis->names()));
    }
  }
}

std::string CellPattern::text() const {
  std::string result;
  for (const Term& term : terms) {
    result += fmt::format("{}{}={}", result.empty() ? "" : " ", term.axis.text,
                          fmt::join(texts(term.names), "|"));
  }
  return result;
}

void Field<CellPattern>::read(const Section& at, CellPattern& out, Limits) {
  if (at.node().kind != Node::Kind::mapping) at.fail("must be a mapping, e.g. {tier: hdd}");
  out.at = at.node().at;
  for (const Node::Entry& entry : at.node().entries) {
    out.terms.push_back({{entry.key, entry.at}, plain_scalars(at.child(entry.key, entry.value))});
  }
}

Node Field<CellPattern>::dump(const CellPattern& value) {
  if (value.empty()) return {};
  Node node = Node::map();
  for (const CellPattern::Term& term : value.terms) {
    const std::vector<std::string> names = texts(term.names);
    node.entries.push_back(
        {term.axis.text, {}, names.size() == 1 ? Node::text(names[0]) : list_of(names)});
  }
  return node;
}

bool AxisNames::has(const std::string& name) const {
  return std::ranges::find(names, name, &Word::text) != names.end();
}

void Field<AxisNames>::read(const Section& at, AxisNames& out, Limits) {
  out.names = plain_scalars(at);
}

Node Field<AxisNames>::dump(const AxisNames& value) {
  return value.names.empty() ? Node{} : list_of(texts(value.names));
}

std::string text(const SweepMatrix& matrix, const Coordinates& cell) {
  std::string result;
  for (const SweepAxis& axis : matrix.axes) {
    result += (result.empty() ? "" : " ") + axis.key + "=" + cell.at(axis.key);
  }
  return result;
}

}  // namespace stoker
