#include "io/core/text/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {

using Json = nlohmann::json;

namespace {

Json scalar_to_json(const Node& node) {
  if (node.quoted) return node.scalar;
  const std::optional<nlohmann::json> value = try_parse_json(node.scalar);
  if (value && (value->is_boolean() || value->is_number())) return *value;
  return node.scalar;
}

// Makes text of strings that came in as bytes, such as paths.
template <class J>
J readable_json(J value) {
  if (value.is_string()) {
    return J(readable(value.template get_ref<const std::string&>()));
  }
  if (value.is_array()) {
    for (J& item : value) item = readable_json(std::move(item));
  }
  if (!value.is_object()) return value;
  J object = J::object();
  for (auto& [key, item] : value.items()) {
    object[readable(key)] = readable_json(std::move(item));
  }
  return object;
}

template <class J>
std::string printed(const J& value, int indent) {
  try {
    return value.dump(indent);
  } catch (const typename J::type_error&) {
    return readable_json(value).dump(indent);
  }
}

}  // namespace

std::string json_text(const Json& value, int indent) { return printed(value, indent); }

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return printed(value, indent);
}

Json parse_json(std::string_view text) { return Json::parse(text); }

std::optional<Json> try_parse_json(std::string_view text) {
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

Json parse_json(std::string_view text, JsonLimits limits) {
  uint64_t values = 0;
  const auto bound = [&](int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (depth > limits.depth) {
      throw Error(ExitCode::data, fmt::format("nested more than {} deep", limits.depth));
    }
    const bool counts = event == Event::value || event == Event::object_start ||
                        event == Event::array_start || event == Event::key;
    if (counts && ++values > limits.values) {
      throw Error(ExitCode::data, fmt::format("more than {} values", limits.values));
    }
    if (!limits.fractions && event == Event::value && value.is_number_float()) {
      throw Error(ExitCode::data, json_text(value) + " is no whole number");
    }
    return true;
  };
  try {
    return Json::parse(text, bound);
  } catch (const Json::exception& error) {
    throw Error(ExitCode::data, std::string("no JSON: ") + error.what());
  }
}

std::optional<int64_t> find_whole_number(const Json& value) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
  return fits ? std::optional(value.get<int64_t>()) : std::nullopt;
}

int64_t whole_number(const Json& value) {
  if (const auto number = find_whole_number(value)) return *number;
  throw Json::type_error::create(302,
                                 std::string("expected a whole number, got ") +
                                     (value.is_number() ? json_text(value) : value.type_name()),
                                 &value);
}

const Json& member_at(const Json& tree, std::string_view path) {
  static const Json kNone;
  const Json* at = &tree;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    const auto found = at->find(std::string(path.substr(0, dot)));
    if (found == at->end()) return kNone;
    at = &*found;
    path.remove_prefix(std::min(path.size(), dot + 1));
  }
  return *at;
}

std::optional<double> number_at(const Json& tree, std::string_view path) {
  const Json& member = member_at(tree, path);
  return member.is_number() ? std::optional(member.get<double>()) : std::nullopt;
}

Json to_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return nullptr;
    case Node::Kind::scalar:
      return scalar_to_json(node);
    case Node::Kind::sequence: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push_back(to_json(item));
      return list;
    }
    case Node::Kind::mapping: {
      Json map = Json::object();
      for (const Node::Entry& entry : node.entries) map[entry.key] = to_json(entry.value);
      return map;
    }
  }
  return nullptr;
}

}  // namespace stoker
