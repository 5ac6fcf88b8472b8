#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "io/dataset/dataset.h"

namespace stoker {

// Which data somebody worked with, so that who goes on later can tell whether they are the same. A
// value.
struct DataIdentity {
  // Of all names of classes, in their order. The names are kept where they are few, so that it can
  // be said which of them differs.
  int64_t classes = 0;
  std::string classes_hash;
  std::vector<std::string> names;
  // Of the keys, sizes and labels of a split's samples, in their order; and of the labels alone,
  // which other formats of the same data have, too (empty: it was not kept).
  struct Samples {
    int64_t count = 0;
    std::string hash;
    std::string labels;
  };
  Samples train;
  Samples test;
};

// What a data set is now. Reads nothing; takes half a second for a million samples. Any thread.
DataIdentity identity_of(const Dataset& dataset);

// What differs, in words: "class 3 was 'dog' and is 'doge'"; "1001 training samples instead of
// 1000". Empty: nothing does. Pure.
std::string other_classes(const DataIdentity& before, const DataIdentity& now);
std::string other_labels(const DataIdentity& before, const DataIdentity& now);
std::string other_samples(const DataIdentity& before, const DataIdentity& now);

// As JSON, and back. nlohmann::json::exception where it is not what the first wrote.
void to_json(nlohmann::json& json, const DataIdentity& identity);
void from_json(const nlohmann::json& json, DataIdentity& identity);

// XXH3-64 of labels, sizes and keys of the split's samples, in this order (empty: their own), going
// on from a hash of what comes before; and of names.
uint64_t hash_samples(const Dataset& dataset, Split split, std::span<const int64_t> order,
                      uint64_t before);
uint64_t hash_names(const std::vector<std::string>& names);

}  // namespace stoker
