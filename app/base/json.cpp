#include "app/base/json.h"

#include <nlohmann/json.hpp>

namespace stoker {
namespace {

nlohmann::json scalar_to_json(const Node& node) {
  if (node.quoted) return node.scalar;
  const nlohmann::json value = nlohmann::json::parse(node.scalar, nullptr, false);
  return value.is_boolean() || value.is_number() ? value : nlohmann::json(node.scalar);
}

}  // namespace

nlohmann::json to_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return nullptr;
    case Node::Kind::scalar:
      return scalar_to_json(node);
    case Node::Kind::sequence: {
      nlohmann::json list = nlohmann::json::array();
      for (const Node& item : node.items) list.push_back(to_json(item));
      return list;
    }
    case Node::Kind::mapping: {
      nlohmann::json map = nlohmann::json::object();
      for (const Node::Entry& entry : node.entries) map[entry.key] = to_json(entry.value);
      return map;
    }
  }
  return nullptr;
}

}  // namespace stoker
