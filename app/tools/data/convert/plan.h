#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/dataset/dataset.h"
#include "io/dataset/shards/shard_writer.h"

namespace stoker {

// Some samples of one split that become one shard. A value.
struct PlannedShard {
  std::string name;  // "train-00003"
  Split split = Split::train;
  // Places in the order of the split.
  int64_t first = 0;
  int64_t count = 0;
};

// What decides where a sample is written to. A value.
struct PlanOptions {
  // Largest size of one shard, by what is known before anything is read. Each shard holds at least
  // one sample.
  uint64_t shard_bytes = uint64_t{256} << 20;
  // Training samples in an order that is drawn by this seed; absent: in their own.
  std::optional<uint64_t> shuffle;
};

// Which sample is written to which shard: a function of its arguments, made before anything is
// read. Immutable; any thread.
class ConvertPlan {
 public:
  // bytes: the size of each sample, if that is known; otherwise the data set says it. writer: the
  // one of the format that `info` describes. Error(ExitCode::config) where two samples would have
  // one name, or a class's name has a line break.
  ConvertPlan(const Dataset& dataset, const ShardFormatWriter& writer, const WritableInfo& info,
              const PlanOptions& options, std::optional<uint64_t> bytes);

  // All shards in the order of the samples, those of Split::train first.
  const std::vector<PlannedShard>& shards() const { return shards_; }
  // The samples of a shard, by their indices in the data set.
  std::vector<int64_t> samples(const PlannedShard& shard) const;
  int64_t samples() const { return samples_; }
  // XXH3-64 of the names, labels and sizes of all samples in their order, and of the classes.
  const std::string& hash() const { return hash_; }

 private:
  void divide(const Dataset& dataset, Split split, uint64_t shard_bytes, int64_t shard_samples,
              std::optional<uint64_t> bytes);
  int64_t at(Split split, int64_t place) const;

  std::vector<int64_t> shuffled_;  // order of Split::train; empty: its own order
  std::vector<PlannedShard> shards_;
  int64_t samples_ = 0;
  std::string hash_;
};

}  // namespace stoker
