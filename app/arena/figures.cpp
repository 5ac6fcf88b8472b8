#include "app/arena/figures.h"

namespace stoker {

using nlohmann::json;

std::optional<double> number_of(const json& output, const char* key) {
  if (!output.is_object() || !output.contains(key) || !output[key].is_number()) return std::nullopt;
  return output[key].get<double>();
}

std::string text_of(const json& output, const char* key) {
  if (!output.is_object() || !output.contains(key)) return "";
  return output[key].is_string() ? output[key].get<std::string>() : output[key].dump();
}

std::optional<double> images_per_s(const json& output) {
  if (const auto number = number_of(output, "images_per_s")) return number;
  if (!output.is_object() || !output.contains("images_per_s")) return std::nullopt;
  return number_of(output["images_per_s"], "median");
}

std::vector<double> epoch_rates(const json& output) {
  std::vector<double> rates;
  if (output.is_object() && output.contains("rates") && output["rates"].is_array()) {
    for (const json& rate : output["rates"]) {
      if (rate.is_number()) rates.push_back(rate.get<double>());
    }
  }
  if (const auto median = images_per_s(output); rates.empty() && median) rates.push_back(*median);
  return rates;
}

std::optional<double> cpu_s_per_1000(const json& output) {
  if (const auto direct = number_of(output, "cpu_s_per_1000")) return direct;
  const auto rate = number_of(output, "per_cpu_s");
  return rate && *rate > 0 ? std::optional(1000 / *rate) : std::nullopt;
}

}  // namespace stoker
