#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"

namespace stoker {

// A data set from its YAML, beside one tier named "data". The remarks it makes are kept.
class TestDataset {
 public:
  explicit TestDataset(std::unique_ptr<Storage> tier) { tiers.add("data", std::move(tier)); }

  static Component<Dataset> parse(const std::string& yaml) {
    const Node node = parse_yaml(yaml, "test.yaml");
    const ConfigContext context{{"data"}};
    return Registry<Dataset>::global().parse(Section(node, "", "dataset", &context));
  }
  Dataset& build(const std::string& yaml, uint64_t seed = 1) {
    remarks.clear();
    dataset = parse(yaml).create(
        {tiers, seed, [this](const std::string& remark) { remarks.push_back(remark); }});
    return *dataset;
  }
  Storage& tier() { return tiers.at("data"); }

  Tiers tiers;
  std::unique_ptr<Dataset> dataset;
  std::vector<std::string> remarks;
};

// A tier in memory with the named objects; the contents of each is its key.
struct MemoryFolder : TestDataset {
  explicit MemoryFolder(const std::vector<std::string>& keys = {})
      : TestDataset(make_storage("{type: memory}")) {
    for (const std::string& key : keys) put(tier(), key, key);
  }
  std::string refused(const std::string& yaml) {
    return error_of([&] { build(yaml); });
  }
};

inline std::vector<std::string> numbered(const std::string& folder, int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(folder + "/" + std::to_string(100 + i) + ".jpg");
  return keys;
}

inline std::vector<std::string> keys(const Dataset& dataset, Split split) {
  std::vector<std::string> result;
  for (int64_t i = 0; i < dataset.size(split); ++i) result.push_back(dataset.info(split, i).key);
  return result;
}

inline std::string read_sample(const Dataset& dataset, Split split, int64_t index) {
  Buffer buffer;
  const Bytes bytes = dataset.read(split, index, buffer).bytes;
  return {bytes.begin(), bytes.end()};
}

// "reason: message" of a training sample that is bad; empty: it is good.
inline std::string why_bad(const Dataset& dataset, int64_t index) {
  try {
    read_sample(dataset, Split::train, index);
  } catch (const BadSample& error) {
    return std::string(to_string(error.reason())) + ": " + error.what();
  }
  return "";
}

}  // namespace stoker
