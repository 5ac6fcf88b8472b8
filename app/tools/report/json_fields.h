#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

// Members of a summary.json by dotted paths, as figures are named: "device.idle_s.data". Any may be
// absent: an older run, or one without checkpoints, lacks some. Pure functions; they never throw
// for what a file holds.

namespace stoker {

// Null if the tree has no such member; iterating over null visits nothing. Valid as long as `tree`
// lives. A name with a dot in it, as a tier's may be, cannot be part of a path: take the object
// that holds it, and use find().
inline const nlohmann::json& member_at(const nlohmann::json& tree, std::string_view path) {
  static const nlohmann::json kNone;
  const nlohmann::json* at = &tree;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    const auto found = at->find(std::string(path.substr(0, dot)));
    if (found == at->end()) return kNone;
    at = &*found;
    path.remove_prefix(std::min(path.size(), dot + 1));
  }
  return *at;
}

// For figures, which are all numbers. Absent also if the member is not a number.
inline std::optional<double> number_at(const nlohmann::json& tree, std::string_view path) {
  const nlohmann::json& member = member_at(tree, path);
  if (!member.is_number()) return std::nullopt;
  return member.get<double>();
}

}  // namespace stoker
