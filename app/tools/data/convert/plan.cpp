#include "app/tools/data/convert/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "io/core/error.h"
#include "io/core/random.h"
#include "io/dataset/data_identity.h"

namespace stoker {
namespace {

constexpr std::array kSplits{Split::train, Split::test};

// Samples that are objects of their own and share a receipt. Each waits for its fsync, so several
// threads must have some even of a small data set.
constexpr int64_t kApart = 64;

// A hash and a number for each sample are kept, and not its name.
void check_names(const Dataset& dataset, Split split, const ShardFormatWriter& writer) {
  const auto name = [&](int64_t index) {
    const SampleInfo info = dataset.info(split, index);
    return writer.name_of(info.key, info.label);
  };
  std::vector<std::pair<uint64_t, int64_t>> names;
  for (int64_t i = 0; i < dataset.size(split); ++i) names.emplace_back(hash_names({name(i)}), i);
  std::ranges::sort(names);
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i].first != names[i - 1].first) continue;
    const int64_t one = names[i - 1].second, other = names[i].second;
    if (name(one) != name(other)) continue;
    throw Error(
        ExitCode::config,
        fmt::format("dataset convert: samples {} and {} would both be '{}' in this format: "
                    "rename one of them",
                    dataset.info(split, one).key, dataset.info(split, other).key, name(one)));
  }
}

void check_classes(const std::vector<std::string>& classes) {
  for (const std::string& name : classes) {
    if (name.find_first_of("\r\n") == name.npos) continue;
    throw Error(ExitCode::config, "dataset convert: the name of class '" + name +
                                      "' has a line break, which classes.txt can't hold");
  }
}

}  // namespace

ConvertPlan::ConvertPlan(const Dataset& dataset, const ShardFormatWriter& writer,
                         const WritableInfo& info, const PlanOptions& options,
                         std::optional<uint64_t> bytes) {
  check_classes(dataset.classes());
  if (options.shuffle) {
    shuffled_.resize(static_cast<size_t>(dataset.size(Split::train)));
    std::iota(shuffled_.begin(), shuffled_.end(), 0);
    Random random(*options.shuffle);
    shuffle(shuffled_, random);
  }
  for (const Split split : kSplits) {
    if (info.unique_names) check_names(dataset, split, writer);
    divide(dataset, split, options.shard_bytes, info.apart ? kApart : INT64_MAX, bytes);
    samples_ += dataset.size(split);
  }
  const uint64_t trained =
      hash_samples(dataset, Split::train, shuffled_, hash_names(dataset.classes()));
  hash_ = fmt::format("{:016x}", hash_samples(dataset, Split::test, {}, trained));
}

int64_t ConvertPlan::at(Split split, int64_t place) const {
  return split == Split::test || shuffled_.empty() ? place : shuffled_[static_cast<size_t>(place)];
}

std::vector<int64_t> ConvertPlan::samples(const PlannedShard& shard) const {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < shard.count; ++i) indices.push_back(at(shard.split, shard.first + i));
  return indices;
}

void ConvertPlan::divide(const Dataset& dataset, Split split, uint64_t shard_bytes,
                         int64_t shard_samples, std::optional<uint64_t> bytes) {
  const auto begin = shards_.size();
  uint64_t left = 0;
  for (int64_t i = 0; i < dataset.size(split); ++i) {
    const uint64_t size = bytes ? *bytes : dataset.info(split, at(split, i)).bytes;
    const bool first = shards_.size() == begin;
    if (first || size > left || shards_.back().count == shard_samples) {
      shards_.push_back({{}, split, i, 0});
      left = shard_bytes;
    }
    left -= std::min(left, size);
    ++shards_.back().count;
  }
  // Names have to sort as their numbers do.
  const size_t digits = std::max<size_t>(5, std::to_string(shards_.size() - begin).size());
  for (size_t i = begin; i < shards_.size(); ++i) {
    shards_[i].name =
        fmt::format("{}-{:0{}}", split == Split::train ? "train" : "test", i - begin, digits);
  }
}

}  // namespace stoker
