#include "app/sweep/figures.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace stoker {
namespace {

using nlohmann::json;

std::string under(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// "results": [{"threads": 4, ...}] -> results.4
std::string element_name(const json& element, size_t place) {
  if (element.is_object()) {
    for (const char* key : {"name", "decoder", "type"}) {
      if (element.contains(key) && element[key].is_string()) return element[key];
    }
    if (element.contains("threads")) return element["threads"].dump();
  }
  return std::to_string(place);
}

void add(const json& value, const std::string& path, Figures& figures) {
  if (value.is_number()) {
    const double number = value.get<double>();
    if (std::isfinite(number)) figures[path] = number;
  } else if (value.is_object()) {
    for (const auto& [key, child] : value.items()) add(child, under(path, key), figures);
    if (!path.empty() && value.contains("median")) add(value["median"], path, figures);
  } else if (path == "results" || path == "evaluations") {
    const bool only = path == "results" && value.size() == 1;
    for (size_t i = 0; i < value.size(); ++i) {
      add(value[i], only ? "" : under(path, element_name(value[i], i)), figures);
    }
  }
}

std::optional<double> at_path(const json& output, const std::string& path) {
  const json* value = &output;
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    if (value->is_object() && value->contains(key)) {
      value = &(*value)[key];
    } else if (value->is_array() && !key.empty() && key.size() < 6 &&
               key.find_first_not_of("0123456789") == std::string::npos &&
               std::stoul(key) < value->size()) {
      value = &(*value)[std::stoul(key)];
    } else {
      return std::nullopt;
    }
    begin = end + 1;
  }
  if (value->is_object() && value->contains("median")) value = &(*value)["median"];
  if (!value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::optional<double> named(const json& output, const std::string& expression) {
  const size_t slash = expression.find(" / ");
  if (slash == std::string::npos) return at_path(output, expression);
  const auto part = at_path(output, expression.substr(0, slash));
  const auto whole = at_path(output, expression.substr(slash + 3));
  if (!part || !whole || *whole == 0) return std::nullopt;
  return *part / *whole;
}

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string short_number(double value) {
  if (std::abs(value) >= 1000) return grouped(value);
  return fmt::format("{:.3g}", value);
}

}  // namespace

Figures flatten(const json& output, const std::map<std::string, std::string>& names) {
  Figures figures;
  json measured = output;
  for (const char* other : {"schema_version", "exit_code", "conditions"}) measured.erase(other);
  add(measured, "", figures);
  for (const auto& [name, path] : names) {
    if (const auto value = named(output, path)) figures[name] = *value;
  }
  return figures;
}

std::string figure_text(const std::string& name, double value) {
  const std::string last = name.substr(name.rfind('.') + 1);
  if (name == "io_share") return fmt::format("I/O share {:.3g} %", 100 * value);
  if (last == "images_per_s") return short_number(value) + " images/s";
  if (last == "mb_per_s") return short_number(value) + " MB/s";
  return fmt::format("{} {}", name, short_number(value));
}

}  // namespace stoker
