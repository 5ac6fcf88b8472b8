#pragma once

#include <memory>
#include <string>
#include <vector>

namespace stoker {

// A place in a configuration, 1-based. A value. Line 0: the source is no file ("override 'a.b=c'").
struct Position {
  std::shared_ptr<const std::string> source;
  int line = 0;
  int column = 0;
  // "file:line:column", the source alone where there is no line, or "configuration".
  std::string text() const;
};

// A YAML document as a tree with positions. A plain value: copying it copies the tree. Any thread
// while nobody changes it.
struct Node {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry;

  Kind kind = Kind::null;
  Position at = {};
  std::string scalar = {};
  bool quoted = false;              // "8" is text, 8 is a number
  std::vector<Node> items = {};     // of a sequence
  std::vector<Entry> entries = {};  // of a mapping, in the order of the file; keys are unique

  const Node* find(const std::string& key) const;  // null: no such key

  static Node text(const std::string& value);
  static Node map();
};

struct Node::Entry {
  std::string key;
  Position at;
  Node value;
};

// Reads one YAML document into a mapping (an empty document is an empty one). Throws
// Error(ExitCode::config) with position for: text that is no YAML, more than 1 MiB, depth over 32,
// over 10,000 nodes, duplicate keys, keys that are no plain text, anchors, aliases and tags, a
// second document. `source` names the text in messages. Any thread.
Node parse_yaml(const std::string& text, const std::string& source);

// parse_yaml() of a file. Error(ExitCode::environment) where it cannot be read.
Node load_yaml(const std::string& path);

// Sets the value at a dotted path: "loader.workers=4", "metrics.sinks.0.type=csv". The value is
// YAML (flow style: "{type: adam}"); missing mappings on the way are made. Error(ExitCode::config)
// where the path leads through a scalar or outside a sequence.
void apply_override(Node& root, const std::string& assignment);

// YAML text of a tree; parse_yaml of it gives the same tree (positions aside).
std::string to_yaml(const Node& node);

}  // namespace stoker
