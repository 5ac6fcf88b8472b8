#include "io/dataset/data_identity.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

// Names with more bytes than this are not kept.
constexpr size_t kMostNameBytes = 64 << 10;

uint64_t hash_of(const std::string& text, uint64_t before) {
  return XXH3_64bits_withSeed(text.data(), text.size(), before);
}

DataIdentity::Samples samples_of(const Dataset& dataset, Split split) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < dataset.size(split); ++i) labels.push_back(dataset.info(split, i).label);
  return {dataset.size(split), fmt::format("{:016x}", hash_samples(dataset, split, {}, 0)),
          fmt::format("{:016x}", XXH3_64bits(labels.data(), labels.size() * sizeof labels[0]))};
}

std::string difference(const char* what, const DataIdentity::Samples& before,
                       const DataIdentity::Samples& now) {
  if (before.hash == now.hash && before.count == now.count) return "";
  if (before.count != now.count) {
    return fmt::format("{} {} samples instead of {}", now.count, what, before.count);
  }
  return fmt::format("as many {} samples, but other keys, sizes or labels", what);
}

std::string label_difference(const char* what, const DataIdentity::Samples& before,
                             const DataIdentity::Samples& now) {
  if (before.count != now.count) return difference(what, before, now);
  if (before.labels == now.labels) return "";
  return fmt::format("as many {} samples, but other labels", what);
}

std::string joined(const std::string& train, const std::string& test) {
  return train + (train.empty() || test.empty() ? "" : "; ") + test;
}

}  // namespace

void to_json(nlohmann::json& json, const DataIdentity& identity) {
  const auto samples = [](const DataIdentity::Samples& of) {
    return nlohmann::json{{"count", of.count}, {"hash", of.hash}, {"labels", of.labels}};
  };
  json = {{"classes", identity.classes},
          {"classes_hash", identity.classes_hash},
          {"names", identity.names},
          {"train", samples(identity.train)},
          {"test", samples(identity.test)}};
}

void from_json(const nlohmann::json& json, DataIdentity& identity) {
  const auto samples = [&](const char* split) {
    const nlohmann::json& of = json.at(split);
    return DataIdentity::Samples{whole_number(of.at("count")), of.at("hash"),
                                 of.value("labels", std::string())};
  };
  identity.classes = whole_number(json.at("classes"));
  identity.classes_hash = json.at("classes_hash");
  identity.names = json.at("names").get<std::vector<std::string>>();
  identity.train = samples("train");
  identity.test = samples("test");
}

uint64_t hash_names(const std::vector<std::string>& names) {
  uint64_t hash = 0;
  for (const std::string& name : names) hash = hash_of(name, hash);
  return hash;
}

uint64_t hash_samples(const Dataset& dataset, Split split, std::span<const int64_t> order,
                      uint64_t before) {
  uint64_t hash = before;
  for (int64_t i = 0; i < dataset.size(split); ++i) {
    const SampleInfo info = dataset.info(split, order.empty() ? i : order[static_cast<size_t>(i)]);
    hash = hash_of(fmt::format("{} {} {}", info.label, info.bytes, info.key), hash);
  }
  return hash_of("end", hash);
}

DataIdentity identity_of(const Dataset& dataset) {
  DataIdentity identity;
  const std::vector<std::string>& names = dataset.classes();
  identity.classes = std::ssize(names);
  identity.classes_hash = fmt::format("{:016x}", hash_names(names));
  const size_t bytes =
      std::accumulate(names.begin(), names.end(), size_t{0},
                      [](size_t sum, const std::string& name) { return sum + name.size(); });
  if (bytes <= kMostNameBytes) identity.names = names;
  identity.train = samples_of(dataset, Split::train);
  identity.test = samples_of(dataset, Split::test);
  return identity;
}

std::string other_classes(const DataIdentity& before, const DataIdentity& now) {
  if (before.classes == now.classes && before.classes_hash == now.classes_hash) return "";
  std::string text;
  if (before.classes != now.classes) {
    text = fmt::format("{} instead of {}", plural(now.classes, "class"), before.classes);
  }
  if (before.names.empty() || now.names.empty()) return text.empty() ? "other names" : text;
  const auto [was, is] = std::ranges::mismatch(before.names, now.names);
  const auto number = was - before.names.begin();
  if (!text.empty()) text += ": ";
  if (was == before.names.end()) return text + fmt::format("class {}, '{}', is new", number, *is);
  if (is == now.names.end()) return text + fmt::format("class {}, '{}', is gone", number, *was);
  return text + fmt::format("class {} was '{}' and is '{}'", number, *was, *is);
}

std::string other_samples(const DataIdentity& before, const DataIdentity& now) {
  return joined(difference("training", before.train, now.train),
                difference("test", before.test, now.test));
}

std::string other_labels(const DataIdentity& before, const DataIdentity& now) {
  return joined(label_difference("training", before.train, now.train),
                label_difference("test", before.test, now.test));
}

}  // namespace stoker
