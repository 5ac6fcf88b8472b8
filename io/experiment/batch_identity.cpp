#include "io/experiment/batch_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace stoker {
namespace {

bool is_below(const std::string& path, const std::vector<std::string>& keys) {
  return std::ranges::any_of(
      keys, [&](const std::string& key) { return path == key || path.starts_with(key + "."); });
}

const std::string* value_of(const FlatTree& tree, const std::string& path) {
  const auto found = std::ranges::find(tree, path, &FlatTree::value_type::first);
  return found == tree.end() ? nullptr : &found->second;
}

}  // namespace

BatchIdentity batch_identity(const DataOptions& options, const Dataset& dataset, Split split,
                             const Shard& shard) {
  std::vector<std::string> irrelevant = same_result_keys(options);
  irrelevant.emplace_back("loader.type");
  BatchIdentity identity{{}, identity_of(dataset)};
  for (auto& [path, value] : flat(dump_struct(options))) {
    if (is_below(path, {"run.seed", "decoder", "loader"}) && !is_below(path, irrelevant)) {
      identity.options.emplace_back(path, value);
    }
  }
  identity.options.emplace_back("split", split == Split::train ? "train" : "test");
  const LoaderInfo loader = options.loader.info();
  if (loader.batches_by_ranks || (loader.shuffle && deals_files(loader.order))) {
    identity.options.emplace_back("world", std::to_string(shard.world));
  }
  return identity;
}

void to_json(nlohmann::json& json, const BatchIdentity& identity) {
  json = {{"options", nlohmann::json::object()}, {"data", identity.data}};
  for (const auto& [path, value] : identity.options) json["options"][path] = value;
}

void from_json(const nlohmann::json& json, BatchIdentity& identity) {
  identity.options.clear();
  for (const auto& [path, value] : json.at("options").items()) {
    identity.options.emplace_back(path, value.get<std::string>());
  }
  identity.data = json.at("data").get<DataIdentity>();
}

BatchDifferences compare(const BatchIdentity& before, const BatchIdentity& now) {
  BatchDifferences found;
  // Types of loaders have options of their own that change no batch.
  std::vector<std::string> irrelevant;
  for (const auto& [one, other] : {std::pair(&before, &now), std::pair(&now, &before)}) {
    for (const auto& [path, value] : one->options) {
      if (path.starts_with("loader.") && value_of(other->options, path) == nullptr) {
        irrelevant.push_back(path);
      }
    }
  }
  const std::string* const was = value_of(before.options, "decoder.type");
  const std::string* const is = value_of(now.options, "decoder.type");
  if (was != nullptr && is != nullptr && *was != *is) {
    irrelevant.emplace_back("decoder");
    found.sources.push_back("decoder.type: " + *was + " -> " + *is);
  }
  found.batches = differences(before.options, now.options, irrelevant);
  const auto add = [](std::vector<std::string>& to, std::string text) {
    if (!text.empty()) to.push_back(std::move(text));
  };
  add(found.batches, other_classes(before.data, now.data));
  add(found.batches, other_labels(before.data, now.data));
  if (found.batches.empty()) add(found.sources, other_samples(before.data, now.data));
  return found;
}

std::vector<std::string> differences(const FlatTree& before, const FlatTree& now,
                                     const std::vector<std::string>& irrelevant) {
  std::map<std::string, std::string> left(before.begin(), before.end());
  std::vector<std::string> found;
  for (const auto& [path, value] : std::map<std::string, std::string>(now.begin(), now.end())) {
    const auto old = left.find(path);
    const std::string was = old == left.end() ? "absent" : old->second;
    if (was != value && !is_below(path, irrelevant)) {
      found.push_back(fmt::format("{}: {} -> {}", path, was, value));
    }
    if (old != left.end()) left.erase(old);
  }
  for (const auto& [path, value] : left) {
    if (!is_below(path, irrelevant)) found.push_back(fmt::format("{}: {} -> absent", path, value));
  }
  return found;
}

}  // namespace stoker
