#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "app/tools/schema/schema.h"

namespace stoker {
namespace {

using nlohmann::json;

json scalar() { return {{"type", {"string", "number", "boolean"}}}; }

json component(const std::string& kind) { return {{"$ref", "#/definitions/" + kind}}; }

// "integer from 1 to 8", "number of at least 0".
json number_schema(const char* type, const std::string& text) {
  json out = {{"type", type}};
  double low = 0, high = 0;
  const size_t from = text.find(" from "), to = text.find(" to ");
  if (from != text.npos && to != text.npos &&
      parse_number(text.substr(from + 6, to - from - 6), low) &&
      parse_number(text.substr(to + 4), high)) {
    out["minimum"] = low;
    out["maximum"] = high;
  }
  const size_t least = text.find(" of at least "), most = text.find(" of at most ");
  if (least != text.npos && parse_number(text.substr(least + 13), low)) out["minimum"] = low;
  if (most != text.npos && parse_number(text.substr(most + 12), high)) out["maximum"] = high;
  return out;
}

json enum_schema(const std::string& type) {
  json words = json::array();
  for (size_t begin = 0; begin <= type.size();) {
    const size_t end = std::min(type.find('|', begin), type.size());
    words.push_back(type.substr(begin, end - begin));
    begin = end + 1;
  }
  return {{"enum", words}};
}

// What types of sweeps alone are called.
json sweep_type(const std::string& type) {
  const json values = {{"anyOf", {scalar(), {{"type", "array"}, {"items", scalar()}}}}};
  const json settings = {{"type", "array"}, {"items", scalar()}};
  if (type == "axes") {
    const json variants = {{"type", "object"}, {"additionalProperties", settings}};
    return {{"type", "object"}, {"additionalProperties", {{"anyOf", {settings, variants}}}}};
  }
  if (type.starts_with("axes with")) {
    return {{"type", "object"}, {"additionalProperties", values}};
  }
  if (type == "axis or list of axes") return values;
  if (type == "[x, y]") return {{"type", "array"}, {"items", scalar()}};
  if (type.starts_with("path of an experiment")) {
    return {{"anyOf", {{{"type", "string"}}, component("experiment")}}};
  }
  return scalar();
}

}  // namespace

json type_schema(const std::string& type) {
  constexpr std::string_view kList = "list of ", kNames = "names, each ", kKind = "{type: <";
  if (type.starts_with(kList)) {
    return {{"type", "array"}, {"items", type_schema(type.substr(kList.size()))}};
  }
  if (type.starts_with(kNames)) {
    return {{"type", "object"}, {"additionalProperties", type_schema(type.substr(kNames.size()))}};
  }
  if (type.starts_with(kKind)) {
    return component(type.substr(kKind.size(), type.find('>') - kKind.size()));
  }
  if (type == "true|false") return {{"type", "boolean"}};
  if (type == "mapping") return {{"type", "object"}};
  if (type.starts_with("integer")) return number_schema("integer", type);
  if (type.starts_with("number")) return number_schema("number", type);
  if (type.starts_with("auto or a number")) {
    return {{"anyOf", {{{"const", "auto"}}, number_schema("number", type)}}};
  }
  if (type.find('|') != type.npos && type.find(' ') == type.npos) return enum_schema(type);
  return sweep_type(type);
}

}  // namespace stoker
