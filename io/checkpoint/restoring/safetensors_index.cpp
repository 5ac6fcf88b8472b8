#include "io/checkpoint/restoring/safetensors_index.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

constexpr JsonLimits kIndexLimits{8, 20 * kMaxForeignTensors};

[[noreturn]] void refuse_index(const std::string& path, const std::string& why) {
  throw Error(ExitCode::storage, path + ": " + why);
}

nlohmann::json index_json(std::string_view text, const std::string& path) {
  if (text.size() > kMaxSafetensorsHeader) {
    refuse_index(path, fmt::format("{} bytes are too many for an index", text.size()));
  }
  try {
    return parse_json(text, kIndexLimits);
  } catch (const Error& error) {
    refuse_index(path,
                 fmt::format("it is not an index of safetensors files, or it is damaged: it is {}",
                             error.what()));
  }
}

}  // namespace

bool is_safetensors_index(std::string_view path) { return path.ends_with(".index.json"); }

std::map<std::string, std::vector<std::string>> parse_safetensors_index(std::string_view text,
                                                                        const std::string& path) {
  const nlohmann::json json = index_json(text, path);
  if (!json.is_object()) {
    refuse_index(path,
                 "it is not an index of safetensors files, or it is damaged: it is not an object");
  }
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) {
    refuse_index(path, "it has no weight_map, so it is not an index of safetensors files");
  }
  std::map<std::string, std::vector<std::string>> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos || name.front() == '.') {
      refuse_index(path,
                   fmt::format("tensor {} is in {}, which is not the name of a file in its folder",
                               tensor, json_text(file)));
    }
    files[name].push_back(tensor);
  }
  if (files.size() > kMaxForeignFiles) {
    refuse_index(path, fmt::format("it names {} files; at most {} are read", files.size(),
                                   kMaxForeignFiles));
  }
  return files;
}

void keep_indexed(std::vector<StoredTensor>& tensors, const std::vector<std::string>& named,
                  const std::string& path) {
  std::set<std::string> missing(named.begin(), named.end());
  std::erase_if(tensors, [&](const StoredTensor& one) { return missing.erase(one.name) == 0; });
  if (missing.empty()) return;
  refuse_index(path, fmt::format("it has no tensor {}, which its index says is in it: they do not "
                                 "agree on tensor {}: fetch all of its files again",
                                 *missing.begin(), *missing.begin()));
}

}  // namespace stoker
