#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/config/node.h"
#include "io/dataset/data_identity.h"
#include "io/experiment/data_options.h"

namespace stoker {

// What makes the batches of a loader what they are, so that who goes on later can tell whether they
// are the same. A value.
struct BatchIdentity {
  // The seed, and the options of decoder and loader that change what is computed; the split; and
  // the number of ranks where batches depend on it. By their dotted paths.
  FlatTree options;
  DataIdentity data;
};

// Goes through all samples. Any thread.
BatchIdentity batch_identity(const DataOptions& options, const Dataset& dataset, Split split,
                             const Shard& shard);

// As JSON, and back. nlohmann::json::exception where it is not what the first wrote.
void to_json(nlohmann::json& json, const BatchIdentity& identity);
void from_json(const nlohmann::json& json, BatchIdentity& identity);

// What differs, in words. A value.
struct BatchDifferences {
  // Batches have other samples, labels or pixels.
  std::vector<std::string> batches;
  // The same samples as far as it is known, from other files or by another decoder.
  std::vector<std::string> sources;
};
// Pure; any thread.
BatchDifferences compare(const BatchIdentity& before, const BatchIdentity& now);

// "optimizer.lr: 0.1 -> 0.01", for every value that differs. Keys, and all below them, that are
// irrelevant do not count. Pure; any thread.
std::vector<std::string> differences(const FlatTree& before, const FlatTree& now,
                                     const std::vector<std::string>& irrelevant);

}  // namespace stoker
