#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/tools/sweep/results.h"
#include "io/core/text/json.h"

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
    if (element.contains("threads")) return json_text(element["threads"]);
  }
  return std::to_string(place);
}

// How many values of a histogram are at most each of its bounds: sizes.up_to_100, sizes.up_to_1024.
void add_histogram(const json& histogram, const std::string& path, Figures& figures) {
  const json &bounds = histogram.at("bounds"), &counts = histogram.at("counts");
  double sum = 0;
  for (size_t i = 0; i < std::min(bounds.size(), counts.size()); ++i) {
    if (!bounds[i].is_number_integer()) return;  // of seconds: its quantiles stand beside it
    sum += counts[i].get<double>();
    figures[fmt::format("{}.up_to_{}", path, bounds[i].get<int64_t>())] = sum;
  }
}

void add(const json& value, const std::string& path, Figures& figures) {
  if (value.is_number()) {
    const double number = value.get<double>();
    if (std::isfinite(number)) figures[path] = number;
  } else if (value.is_object()) {
    for (const auto& [key, child] : value.items()) add(child, under(path, key), figures);
    if (!path.empty() && value.contains("median")) add(value["median"], path, figures);
    if (value.contains("bounds") && value.contains("counts")) add_histogram(value, path, figures);
  } else if (path == "results" || path == "evaluations") {
    const bool only = path == "results" && value.size() == 1;
    for (size_t i = 0; i < value.size(); ++i) {
      add(value[i], only ? "" : under(path, element_name(value[i], i)), figures);
    }
  }
}

std::optional<double> named(const Figures& figures, const std::string& expression) {
  const auto of = [&](const std::string& path) -> std::optional<double> {
    const auto found = figures.find(path);
    return found == figures.end() ? std::nullopt : std::optional(found->second);
  };
  const size_t slash = expression.find(" / ");
  if (slash == std::string::npos) return of(expression);
  const auto part = of(expression.substr(0, slash));
  const auto whole = of(expression.substr(slash + 3));
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
    if (const auto value = named(figures, path)) figures[name] = *value;
  }
  return figures;
}

std::string figure_text(const std::string& name, double value) {
  const std::string last = name.substr(name.rfind('.') + 1);
  if (name == "exposed_io_share") return fmt::format("I/O exposed {:.3g} %", 100 * value);
  if (name == "io_share") return fmt::format("I/O share {:.3g} %", 100 * value);
  if (last == "images_per_s") return short_number(value) + " images/s";
  if (last == "mb_per_s") return short_number(value) + " MB/s";
  return fmt::format("{} {}", name, short_number(value));
}

}  // namespace stoker
