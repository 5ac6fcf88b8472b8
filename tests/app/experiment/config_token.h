#pragma once

#include <string>
#include <vector>

#include "io/core/config/node.h"

namespace stoker {

// One word of a configuration that may be mistyped: a key, a value, or a part of a setting such as
// the three of "loader.type=sync". A value.
struct ConfigToken {
  enum class Role {
    word,     // one of `words`: all else is wrong, and the right one can be suggested
    free,     // a name that the file makes up; what refers to it is wrong without it
    value,    // of the described type
    unknown,  // perhaps right, perhaps wrong
  };
  Role role;
  std::string text;
  size_t offset = 0;  // of `text`
  Position at = {};   // where the error has to be: of the key, the value or the setting
  std::vector<std::string> words = {};
  std::string type = {};  // of a value
  bool is_key = false;    // of a mapping of the file
  bool is_value = false;  // a whole value of the file, and not a part of one
  bool quoted = false;
  const Node* mapping = nullptr;  // that the key is in
  const Node* node = nullptr;     // the value, or that of the key
  // Of what a value is part of, and of the values beside it: one may contradict another.
  std::vector<Position> related = {};
};

// The places of a mapping or a list and of what is in it.
inline std::vector<Position> places_of(const Node& node) {
  std::vector<Position> places = {node.at};
  for (const Node::Entry& entry : node.entries) places.push_back(entry.value.at);
  for (const Node& item : node.items) places.push_back(item.at);
  return places;
}

}  // namespace stoker
