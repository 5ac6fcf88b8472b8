#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// What a program of the arena says of itself, in its line of JSON:
//   images_per_s       a number, or an object with `median`
//   rates              images/s of each measured epoch
//   cpu_s_per_1000     CPU seconds of its whole process tree per 1,000 images; or per_cpu_s, images
//                      per CPU second
//   rss_mb, pss_mb     memory: the sum of the peaks of its processes; shared pages by their share
//   mean, shape, layout, version
// Absent: it does not say.
std::optional<double> images_per_s(const nlohmann::json& output);
std::vector<double> epoch_rates(const nlohmann::json& output);  // or images_per_s alone
std::optional<double> cpu_s_per_1000(const nlohmann::json& output);
std::optional<double> number_of(const nlohmann::json& output, const char* key);
std::string text_of(const nlohmann::json& output, const char* key);

}  // namespace stoker
