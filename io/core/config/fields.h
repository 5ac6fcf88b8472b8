#pragma once

#include <type_traits>

#include "io/core/config/config.h"
#include "io/core/error.h"

// The templates behind config.h: one Field<T> for each family of field types. Include config.h
// instead.
//
// Whoever needs a field type of its own specialises Field<T> (or Scalar<T>, where one YAML scalar
// will do) beside T, with the same three static functions. `out` of read() may be changed only
// where read() succeeds, or where the whole configuration is thrown away after its exception.

namespace stoker {
namespace config_detail {

// " from 1 to 8", " of at least 1", " of at most 8", or nothing.
std::string limits_text(Limits limits);
// Of a scalar; words: those that may stand there.
[[noreturn]] void fail_expected(const Section& at, std::string_view expected,
                                const std::vector<std::string>& words);
// Of a value that is not the list that it has to be.
[[noreturn]] void fail_no_list(const Section& at);

}  // namespace config_detail

// How values of one type are read, dumped and named. Pure functions; any thread. read() throws
// Error(ExitCode::config) at the value's place.
//
// Here: bool, integers, numbers, text and names of tiers. Numbers are refused in quotes, with a
// leading zero, or outside their limits.
template <class T>
struct Field {
  // Sets `out` from the value at `at`. Limits apply to numbers; the bounds themselves are allowed.
  static void read(const Section& at, T& out, Limits limits) {
    config_detail::read(at, out, limits);
  }
  // The value as YAML; read() of it gives the same value. A null node means that nothing is to be
  // written down.
  static Node dump(const T& value) { return config_detail::dump(value); }
  // What may stand there, in words, for `stoker describe`.
  static std::string type() {
    if constexpr (std::is_same_v<T, bool>) return "true|false";
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) return "integer";
    if constexpr (std::is_same_v<T, double>) return "number";
    if constexpr (std::is_same_v<T, TierName>) return "name of a tier";
    return "text";
  }
};

// A type with Scalar<T>. It is taken for nothing else, whatever members it has.
template <config_detail::HasScalar T>
struct Field<T> {
  static void read(const Section& at, T& out, Limits) {
    const std::string expected = Scalar<T>::expected;
    const std::string& text = config_detail::scalar_text(at, expected);
    if (Scalar<T>::parse(text, out)) return;
    if constexpr (requires { Scalar<T>::word; }) {
      config_detail::fail_expected(at, expected, {Scalar<T>::word});
    } else {
      config_detail::fail_expected(at, expected, {});
    }
  }
  static Node dump(const T& value) {
    if constexpr (requires { Scalar<T>::any_text; }) {
      return config_detail::dump(Scalar<T>::format(value));
    } else {
      return Node::text(Scalar<T>::format(value));
    }
  }
  static std::string type() { return Scalar<T>::expected; }
};

// An enum. A function `EnumNames<T> enum_names(T)` in its namespace gives all names and values; a
// value without a name is dumped as nothing.
template <config_detail::EnumField T>
struct Field<T> {
  static void read(const Section& at, T& out, Limits) {
    const EnumNames<T> known = enum_names(T{});
    std::vector<std::string> names;
    for (const auto& [name, value] : known) names.emplace_back(name);
    const std::string expected = config_detail::enum_expected(names);
    const std::string& text = config_detail::scalar_text(at, expected);
    for (const auto& [name, value] : known) {
      if (text == name) {
        out = value;
        return;
      }
    }
    config_detail::fail_expected(at, expected, names);
  }
  static Node dump(const T& value) {
    for (const auto& [name, candidate] : enum_names(T{})) {
      if (candidate == value) return Node::text(name);
    }
    return {};
  }
  static std::string type() {
    std::string text;
    for (const auto& [name, value] : enum_names(T{})) {
      text += (text.empty() ? "" : "|") + std::string(name);
    }
    return text;
  }
};

// A struct with visit(): a mapping of its fields. Fields that are absent keep the value that `out`
// has before, so that a struct may give its members other defaults than their type has.
template <config_detail::StructField T>
struct Field<T> {
  static void read(const Section& at, T& out, Limits) { read_struct(at, out); }
  static Node dump(const T& value) { return dump_struct(value); }
  static std::string type() { return "mapping"; }
};

// A field that may be absent: null, `~` and an absent key mean none, and none is not written down.
template <class T>
struct Field<std::optional<T>> {
  static void read(const Section& at, std::optional<T>& out, Limits limits) {
    if (at.node().kind == Node::Kind::null) {
      out.reset();
      return;
    }
    T value{};
    Field<T>::read(at, value, limits);
    out = std::move(value);
  }
  static Node dump(const std::optional<T>& value) {
    return value ? Field<T>::dump(*value) : Node{};
  }
  static std::string type() { return Field<T>::type(); }
};

// A YAML list. It replaces the default as a whole: elements are never added to those of the
// default. Limits are those of each element. The place of an element in messages is its number,
// from 0.
template <class T>
struct Field<std::vector<T>> {
  static void read(const Section& at, std::vector<T>& out, Limits limits) {
    if (at.node().kind != Node::Kind::sequence) config_detail::fail_no_list(at);
    out.clear();
    for (size_t i = 0; i < at.node().items.size(); ++i) {
      T value{};
      Field<T>::read(at.child(std::to_string(i), at.node().items[i]), value, limits);
      out.push_back(std::move(value));
    }
  }
  static Node dump(const std::vector<T>& values) {
    Node node(Node::Kind::sequence, {});
    for (const T& value : values) node.items.push_back(Field<T>::dump(value));
    return node;
  }
  static std::string type() { return "list of " + Field<T>::type(); }
};

// A YAML mapping of free names to values of one type. It replaces the default as a whole; the order
// of the file is lost, as the names are sorted.
template <class T>
struct Field<std::map<std::string, T>> {
  static void read(const Section& at, std::map<std::string, T>& out, Limits limits) {
    if (at.node().kind != Node::Kind::mapping) at.fail("must be a mapping of names");
    out.clear();
    for (const Node::Entry& entry : at.node().entries) {
      T value{};
      Field<T>::read(at.child(entry.key, entry.value), value, limits);
      out.emplace(entry.key, std::move(value));
    }
  }
  static Node dump(const std::map<std::string, T>& values) {
    Node node = Node::map();
    for (const auto& [key, value] : values) {
      node.entries.push_back({key, {}, Field<T>::dump(value)});
    }
    return node;
  }
  static std::string type() { return "names, each " + Field<T>::type(); }
};

template <class T>
void FieldReader::field(const char* key, T& value, const Help&, Limits limits, bool required) {
  seen_.emplace_back(key);
  if (const Node* node = section_.node().find(key)) {
    try {
      Field<T>::read(section_.child(key, *node), value, limits);
    } catch (const Error&) {
      if (!wrong_) wrong_ = std::current_exception();
    }
  } else if (required) {
    missing_.emplace_back(key);
  }
}

template <class T>
void FieldDumper::field(const char* key, const T& value, const Help&, Limits, bool) {
  Node node = Field<T>::dump(value);
  if (node.kind != Node::Kind::null) node_.entries.push_back({key, {}, std::move(node)});
}

template <class T>
void FieldDescriber::field(const char* key, T& value, const Help& help, Limits limits,
                           bool required) {
  if constexpr (config_detail::HasVisit<T>) {
    FieldDescriber nested(prefix_ + key + ".");
    value.visit(nested);
    for (FieldHelp& row : nested.take()) rows_.push_back(std::move(row));
  } else {
    FieldHelp row{prefix_ + key, Field<T>::type() + config_detail::limits_text(limits), "",
                  required, help.text};
    const Node fallback = Field<T>::dump(value);
    if (!required) row.fallback = fallback.kind == Node::Kind::null ? "absent" : to_yaml(fallback);
    rows_.push_back(std::move(row));
  }
  if constexpr (requires { typename T::value_type; }) {
    if constexpr (std::is_same_v<T, std::optional<typename T::value_type>> &&
                  config_detail::HasVisit<typename T::value_type>) {
      typename T::value_type defaults;  // of what it is where it is there
      FieldDescriber nested(prefix_ + key + ".");
      defaults.visit(nested);
      for (FieldHelp& inner : nested.take()) rows_.push_back(std::move(inner));
    }
  }
}

template <class T>
void SameResultKeys::field(const char* key, const T& value, const Help& help, Limits, bool) {
  const std::string path = prefix_ + key;
  std::vector<std::string> found;
  if (help.same_results) {
    found = {path};
  } else if constexpr (config_detail::HasVisit<T>) {
    found = same_result_keys(value, path + ".");
  } else if constexpr (requires { value.same_result_keys(path); }) {
    if (value) found = value.same_result_keys(path + ".");
  }
  keys_.insert(keys_.end(), found.begin(), found.end());
}

template <class T>
std::vector<std::string> same_result_keys(const T& value, const std::string& prefix) {
  SameResultKeys keys(prefix);
  T copy = value;  // visit() serves readers too and is therefore not const
  copy.visit(keys);
  return keys.take();
}

template <class T>
std::vector<FieldHelp> describe_struct(T defaults) {
  FieldDescriber describer;
  defaults.visit(describer);
  std::vector<FieldHelp> rows = describer.take();
  if constexpr (requires { T::kIdle; }) {
    for (FieldHelp& row : rows) {
      for (const char* const word : T::kIdle) {
        const std::string key = word;
        row.idle |= key == "*" || row.key == key || row.key.starts_with(key + ".");
      }
    }
  }
  return rows;
}

template <class T>
void read_struct(const Section& at, T& out, const std::vector<const char*>& keys) {
  FieldReader reader(at);
  for (const char* key : keys) reader.accept(key);
  out.visit(reader);
  reader.finish();
  if constexpr (requires { out.check(at); }) out.check(at);
}

template <class T>
Node dump_struct(const T& value) {
  FieldDumper dumper;
  T copy = value;  // visit() serves readers too and is therefore not const
  copy.visit(dumper);
  return dumper.take();
}

}  // namespace stoker
