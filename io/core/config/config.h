#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/core/config/node.h"
#include "io/core/config/suggestion.h"  // IWYU pragma: export
#include "io/core/error.h"
#include "io/core/text/text.h"

// How a struct of options becomes YAML and back.
//
// A component has a struct `Options` with defaults and one template member `visit`:
//
//   struct Options {
//     std::string root;
//     int64_t queue_depth = 1;
//     template <class V> void visit(V& v) {
//       v.required("root", root, "directory that holds the data");
//       v("queue_depth", queue_depth, "reads in flight", Limits{1, 1024});
//     }
//     void check(const Section& section) const;   // optional: relations between fields
//     static constexpr std::array kIdle{"queue_depth"};   // optional: keys without a meaning
//   };
//
// Types of one kind often share a struct, so that a sweep changes nothing but `type:`. A key that
// has no meaning for one of them stands in its kIdle. It is accepted and written down as any other,
// but `stoker describe` does not show it. "a" stands for "a.b", too, and "*" for all keys.
//
// Four visitors use it: FieldReader (YAML -> struct), FieldDumper (struct -> YAML, the resolved
// configuration), FieldDescriber (`stoker describe`) and SameResultKeys (resume). Fields may be
// bool, int64_t, uint64_t, double, std::string, an enum with enum_names(), a type with Scalar<T>,
// std::optional, std::vector, std::map<std::string, T>, a struct with visit(), or a Component<T>
// (see registry.h). Everything here throws Error(ExitCode::config): "file:line:column:
// path.in.config: what is wrong".

namespace stoker {

// Inclusive bounds of a number; by default there are none. A value. NaN is inside no bounds.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

// What `stoker describe` says of an option, and whether a resumed run may change it. Converts from
// a literal. The text must outlive every use: literals only. A value.
struct Help {
  Help(const char* text, bool same_results = false)  // NOLINT(google-explicit-constructor)
      : text(text), same_results(same_results) {}
  const char* text;
  bool same_results;  // whatever its value, a run computes the same
};
// The help of an option that only says by which route, or how fast: same_results("threads that
// decode"). A resume may change it and says nothing of it.
inline Help same_results(const char* text) { return {text, true}; }

// Facts from elsewhere in the configuration that a value may need while it is read. A value;
// whoever reads a configuration makes one, and it must live until all is read.
struct ConfigContext {
  std::vector<std::string> tiers;  // names under storage:
  Notify note = {};  // told which options an override of a type drops, in one line; may be empty
};

// A value in a configuration together with its place in the file, for messages.
//
// Any thread (immutable). Borrows the Node and the context: use it only while both live. The
// context may be null; names of tiers are then not checked.
class Section {
 public:
  Section(const Node& node, std::string path, std::string key, const ConfigContext* context)
      : node_(&node), path_(std::move(path)), key_(std::move(key)), context_(context) {}

  // The value itself; of the caller's tree, which must live.
  const Node& node() const { return *node_; }
  // Null where nothing is known of the rest of the configuration.
  const ConfigContext* context() const { return context_; }
  // "loader.inner": where this value's children live.
  std::string path() const;
  // The value of `key` inside this one, with the same context.
  Section child(const std::string& key, const Node& node) const;
  // The same place with another value, which must live.
  Section in_place(const Node& node) const;
  // What a message about an unknown key of this mapping ends with; the text is empty where nothing
  // is known of the key. For this mapping alone, and not for its children.
  using KeyHint = std::function<std::string(const std::string& key)>;
  Section with_hint(KeyHint hint) const;
  std::string hint(const std::string& key) const { return hint_ ? hint_(key) : ""; }

  // Each throws Error(ExitCode::config). "<file:line:column>: <path of the parent>: '<key>'
  // <what>", at this value.
  [[noreturn]] void fail(const std::string& what) const;
  // The same at the value of `key` in this mapping, or at the mapping itself where the key is
  // absent.
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  // For a mapping without a key that it needs; more: the end of the message. Where a slip in the
  // name of this value made an override create it, the message says that instead.
  [[noreturn]] void fail_missing(const std::string& key, const std::string& more = {}) const;
  // "<at>: <path of this value>: <what>", at any position.
  [[noreturn]] void fail_at(const Position& at, const std::string& what) const;

 private:
  const Node* node_;
  std::string path_;  // of the parent
  std::string key_;
  const ConfigContext* context_;
  const Node* parent_ = nullptr;
  KeyHint hint_;
};

// Specialised for types that are written as one YAML scalar:
//   static bool parse(const std::string&, T&);          // false: the text is none
//   static std::string format(const T&);                // parse(format(x)) gives x
//   static constexpr const char* expected = "a size such as 64KiB";   // "must be <expected>"
//   static constexpr const char* word = "auto";   // optional: what else may stand there
//   static constexpr bool any_text = true;   // optional: also what looks like a number, or "no"
template <class T>
struct Scalar {
  static constexpr bool none = true;
};

// All values of an enum with the names that YAML has for them, in the order in which to list them.
template <class E>
using EnumNames = std::vector<std::pair<const char*, E>>;

// A number of bytes: 4096, 64KiB, 2MiB, 1GiB, 5k, 3m, 1g (k = 1000). A value.
struct ByteSize {
  uint64_t bytes = 0;
};
template <>
struct Scalar<ByteSize> {
  static bool parse(const std::string& text, ByteSize& out);
  static std::string format(const ByteSize& value);
  static constexpr const char* expected = "a size such as 4096, 64KiB, 2MiB or 1GiB";
};

// A time: 500ms, 60s, 2min. A value.
struct Duration {
  int64_t ms = 0;
};
template <>
struct Scalar<Duration> {
  static bool parse(const std::string& text, Duration& out);
  static std::string format(const Duration& value);
  static constexpr const char* expected = "a time such as 500ms, 60s or 2min";
};

// A number from 1 to 1024, or auto: the option says what that is. A value.
struct AutoCount {
  int64_t count = 0;  // 0: auto
};
template <>
struct Scalar<AutoCount> {
  static bool parse(const std::string& text, AutoCount& out);
  static std::string format(const AutoCount& value);
  static constexpr const char* expected = "auto or a number from 1 to 1024";
  static constexpr const char* word = "auto";
};

// A share: 15%, or 0.15; here the number, 0.15. Not below 0. Above 1 only with the sign, for
// whoever writes 5 means 5 %, and would get 500. A value.
struct Share {
  double value = 0;
};
template <>
struct Scalar<Share> {
  static bool parse(const std::string& text, Share& out);
  static std::string format(const Share& value);
  static constexpr const char* expected = "a share such as 15% or 0.15 (above 1 with the sign %)";
};

// Whether all of the text is a decimal number (uint16_t, int64_t, uint64_t, double): not one of a
// leading zero, which YAML 1.1 reads as octal.
template <class T>
bool parse_number(std::string_view text, T& out);

// "~/data" and "~user/data" as a shell reads them; what belongs to no known user stays as it is.
// Any thread.
std::string with_home(const std::string& path);

// A path of the file system: bytes, which a configuration writes as to_text() does. ${NAME} and
// ${NAME:-default} are replaced from the environment when it is read: the only place where the
// environment reaches a configuration. "~/" and "~user/" at its begin are replaced (with_home()).
struct Path {
  std::string value;
};
template <>
struct Scalar<Path> {
  static bool parse(const std::string& text, Path& out);
  static std::string format(const Path& value) { return to_text(value.value); }
  static constexpr bool any_text = true;
  static constexpr const char* expected = "a path";
};

// The name of a tier under storage:; checked against ConfigContext::tiers while it is read. A
// value.
struct TierName {
  std::string name;
};

template <class T>
class Component;

namespace config_detail {

void read(const Section& at, bool& out, Limits);
template <class Number>
void read(const Section& at, Number& out, Limits);
void read(const Section& at, std::string& out, Limits);
void read(const Section& at, TierName& out, Limits);

Node dump(bool value);
Node dump(int64_t value);
Node dump(uint64_t value);
Node dump(double value);
Node dump(const std::string& value);
Node dump(const TierName& value);

const std::string& scalar_text(const Section& at, std::string_view expected);
std::string enum_expected(const std::vector<std::string>& names);

// Has T a member template visit()?
struct AnyVisitor {
  template <class... A>
  void operator()(A&&...) {}
  template <class... A>
  void required(A&&...) {}
};
template <class T>
concept HasVisit = requires(T& value, AnyVisitor& visitor) {
  value.visit(visitor);
};

// Is Scalar<T> specialised?
template <class T>
concept HasScalar = !requires {
  Scalar<T>::none;
};

// The other families of field types. What has a Scalar is of none of them.
template <class T>
concept EnumField = std::is_enum_v<T> && !HasScalar<T>;
template <class T>
concept StructField = HasVisit<T> && !HasScalar<T>;

}  // namespace config_detail

// How values of a type are read, dumped and named; specialise it for types of your own.
template <class T>
struct Field;  // defined in fields.h: read, dump and describe of one field type

// What visitors have in common: both ways to visit an option are one, field(key, value, help,
// limits, required) of the class that derives from this. That is how a visitor is written; a
// struct's visit() only calls the two below. Keys and help texts must be literals.
template <class Visitor>
class FieldVisitor {
 public:
  // An option that has to be given.
  template <class T>
  void required(const char* key, T& value, const Help& help, Limits limits = {}) {
    static_cast<Visitor*>(this)->field(key, value, help, limits, true);
  }
  // An option with a default: the value that it has before.
  template <class T>
  void operator()(const char* key, T& value, const Help& help, Limits limits = {}) {
    static_cast<Visitor*>(this)->field(key, value, help, limits, false);
  }
};

// YAML -> struct. One thread at a time; refers to the section, so use it while that lives.
// Everything throws Error(ExitCode::config) at the position of the value, and only finish() does so
// for a field.
class FieldReader : public FieldVisitor<FieldReader> {
 public:
  // The section must be a mapping, or nothing at all (then every default stays).
  explicit FieldReader(const Section& section);

  // Reads `key` into value. Where the key is absent: an error, or value keeps its default.
  template <class T>
  void field(const char* key, T& value, const Help& help, Limits limits, bool required);
  // Names a key that somebody else reads ("type").
  void accept(const char* key) { seen_.push_back(key); }
  // Call it last. It throws the error of the first key of the mapping that nobody asked for, with a
  // suggestion; else that of the first value that is wrong; else that of the required keys that are
  // absent. They come in this order because a slip in a key makes others wrong.
  void finish() const;

 private:
  Section section_;
  std::vector<std::string> seen_;
  std::exception_ptr wrong_;          // the error of the first value that is wrong
  std::vector<std::string> missing_;  // the keys that are required and absent
};

// Struct -> YAML with every default written out; absent optionals are left out. One thread at a
// time. The struct is only read.
class FieldDumper : public FieldVisitor<FieldDumper> {
 public:
  template <class T>
  void field(const char* key, const T& value, const Help&, Limits, bool required);
  // The mapping, in the order of the fields. Once.
  Node take() { return std::move(node_); }

 private:
  Node node_ = Node::map();
};

// One option as `stoker describe` prints it, and as docs/components.md lists it. A value.
struct FieldHelp {
  std::string key;
  // What may stand there, in words: "integer from 1 to 1024", "a|b|c".
  std::string type;
  std::string fallback;  // YAML of the default; empty where required
  bool required = false;
  std::string help;
  bool idle = false;  // accepted, but without a meaning for the type (kIdle)
};

// Struct -> documentation, from the defaults of the struct it is given; fields of nested structs
// appear as "augment.flip". One thread at a time.
class FieldDescriber : public FieldVisitor<FieldDescriber> {
 public:
  // prefix: as for SameResultKeys.
  explicit FieldDescriber(std::string prefix = "") : prefix_(std::move(prefix)) {}
  template <class T>
  void field(const char* key, T& value, const Help& help, Limits limits, bool required);
  // The options, in the order of the fields; those of a nested struct where it stands. Once.
  std::vector<FieldHelp> take() { return std::move(rows_); }

 private:
  std::string prefix_;
  std::vector<FieldHelp> rows_;
};

// Struct -> paths of the options that change no result, each behind a prefix ("loader."). A struct
// or a component that is marked as a whole gives one path, of which everything below counts. One
// thread at a time.
class SameResultKeys : public FieldVisitor<SameResultKeys> {
 public:
  // prefix: stands before every path; "loader.", or empty.
  explicit SameResultKeys(std::string prefix) : prefix_(std::move(prefix)) {}
  template <class T>
  void field(const char* key, const T& value, const Help& help, Limits, bool required);
  std::vector<std::string> take() { return std::move(keys_); }

 private:
  std::string prefix_;
  std::vector<std::string> keys_;
};

// The same of a whole struct in one call: {"loader.workers", "metrics"}. Any thread.
template <class T>
std::vector<std::string> same_result_keys(const T& value, const std::string& prefix = "");

// All options of a struct as FieldDescriber says them; those of its kIdle are marked. Any thread.
template <class T>
std::vector<FieldHelp> describe_struct(T defaults = {});

// Reads a whole struct from a mapping, refuses unknown keys, then calls its check(), where it has
// one. keys: those that somebody else reads ("type"). Error(ExitCode::config) at the first value
// that is wrong; `out` is half read then.
template <class T>
void read_struct(const Section& at, T& out, const std::vector<const char*>& keys = {});

// The struct as YAML with every default written out; read_struct() of it gives the same values. Any
// thread while nobody changes the struct.
template <class T>
Node dump_struct(const T& value);

}  // namespace stoker

#include "io/core/config/fields.h"  // IWYU pragma: export
