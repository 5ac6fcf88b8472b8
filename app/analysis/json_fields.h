#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

// Members of a summary.json that may be absent.

namespace stoker {

// The member `name`; absent also where it is no number.
inline std::optional<double> number_if_there(const nlohmann::json& object,
                                             const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// The member `name`, or an empty object where it is absent or no object. Valid as long as `json`
// lives.
inline const nlohmann::json& object_if_there(const nlohmann::json& json, const std::string& name) {
  static const nlohmann::json kNone = nlohmann::json::object();
  const auto found = json.find(name);
  return found != json.end() && found->is_object() ? *found : kNone;
}

}  // namespace stoker
