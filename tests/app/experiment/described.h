#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/core/config/config.h"
#include "io/core/text/json.h"
#include "tests/app/experiment/in_process.h"

namespace stoker {

// The options that `stoker describe` prints for these words.
inline std::vector<FieldHelp> described(const std::vector<std::string>& words) {
  std::vector<FieldHelp> rows;
  for (const auto& row : parse_json(stdout_of(words))) {
    const auto& fallback = row["default"];
    rows.push_back({.key = row["key"].get<std::string>(),
                    .type = row["type"].get<std::string>(),
                    .fallback = fallback.is_null() ? "" : fallback.get<std::string>(),
                    .help = ""});
  }
  return rows;
}

// Those of a struct that belongs to no component.
template <class T>
std::vector<FieldHelp> rows_of() {
  T defaults;
  FieldDescriber describer;
  defaults.visit(describer);
  return describer.take();
}

// All types of a kind of component: "posix|memory".
inline std::string types_of(const std::string& kind) {
  static const nlohmann::json kinds = parse_json(stdout_of({"list", "--json"}));
  std::string all;
  for (const auto& type : kinds[kind]) all += (all.empty() ? "" : "|") + type.get<std::string>();
  return all;
}

}  // namespace stoker
