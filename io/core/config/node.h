#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

// A place in a configuration, for messages. A value that shares the source's name. Lines and
// columns count from 1. Line 0: the source is no file ("override 'a.b=c'"). Without a source it is
// nowhere, as in nodes that the program itself made.
struct Position {
  std::shared_ptr<const std::string> source;
  int line = 0;
  int column = 0;
  // "file:line:column", the source alone where there is no line, or "configuration".
  std::string text() const;
};

// A YAML document as a tree with positions. A plain value: copying it copies the tree. Any thread
// while nobody changes it.
//
// Only the members of its kind mean something. Scalars are kept as they are written: what "08" or
// "yes" means is decided by the type of the field that reads it (config.h), never by the parser.
struct Node {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry;
  struct Override;

  Kind kind = Kind::null;
  Position at;
  std::string scalar;
  bool quoted = false;         // "8" is text, 8 is a number
  std::vector<Node> items;     // of a sequence
  std::vector<Entry> entries;  // of a mapping, in the order of the file; keys are unique

  // A mapping whose `type` an override changes keeps the mapping as it was before, and that
  // override with all later ones below it. Only a reader who knows the types can tell what becomes
  // of the options (registry.h); everybody else reads the members above, where each override is set
  // as it stands. Null: no override changed the type.
  std::shared_ptr<const Node> former;
  std::vector<Override> overrides;

  // Null, nowhere. In node.cpp, for an Entry is incomplete here.
  Node();
  Node(Kind kind, Position at, std::string scalar = {}, bool quoted = false);

  // The value of a key. Null: no such key, or no mapping. Valid until the node changes.
  const Node* find(const std::string& key) const;

  // A scalar without quotes, and an empty mapping; both without a position.
  static Node text(const std::string& value);
  static Node map();
};

// A key of a mapping, where it stands, and its value.
struct Node::Entry {
  std::string key;
  Position at;
  Node value;
};

// A value that an override sets: the dotted path to it from the node that has this, and the place
// of the override.
struct Node::Override {
  std::string path;
  Position at;
  Node value;
};

// Reads one YAML document into a mapping (an empty document is an empty one). Throws
// Error(ExitCode::config) with position for: text that is no YAML, more than 1 MiB, depth over 32,
// over 10,000 nodes, duplicate keys, keys that are no plain text, anchors, aliases and tags, a
// second document. `source` names the text in messages. Any thread.
Node parse_yaml(const std::string& text, const std::string& source);

// parse_yaml() of a file. A single word that is no file ("quickstart") is a configuration that is
// installed with the library. Error(ExitCode::environment) where it cannot be read.
Node load_yaml(const std::string& path);

// A word of a command line, such as an override ("loader.workers=4"). A value.
struct Word {
  // GCC 12 destroys a member twice that braces initialise without a constructor, where what stands
  // after it throws.
  Word() = default;
  explicit Word(std::string text) : text(std::move(text)) {}
  Word(std::string text, Position at, Position value_at = {})
      : text(std::move(text)), at(std::move(at)), value_at(std::move(value_at)) {}

  std::string text;
  Position at, value_at;  // in a file: of it or its path, and of its value; else nowhere
};

// Sets the value at a dotted path: "loader.workers=4", "metrics.sinks.0.type=csv". The value is
// YAML (flow style: "{type: adam}"); missing mappings on the way are made. Error(ExitCode::config)
// where the path leads through a scalar or outside a sequence.
void apply_override(Node& root, const Word& assignment);
void apply_override(Node& root, const std::string& assignment);
// The same of an override that was read before.
void apply_override(Node& root, const Node::Override& override);

// Whether every reader of YAML takes this for text where it stands without quotes: not so those of
// YAML 1.1 (such as PyYAML) "no", "1_000", "1:30" and "2026-01-02".
bool is_plain_text(const std::string& text);

// YAML text of a tree, without a line break at its end; parse_yaml of it gives the same tree
// (positions aside). Pure; any thread.
std::string to_yaml(const Node& node);

// The values of a tree by their dotted paths, each as YAML, in the order of the file:
// {"loader.workers", "4"}, {"metrics.sinks.0.type", "csv"}. An empty mapping or list is a value.
// Pure; any thread.
using FlatTree = std::vector<std::pair<std::string, std::string>>;
FlatTree flat(const Node& tree);

}  // namespace stoker
