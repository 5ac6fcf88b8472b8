#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/dataset/dataset.h"
#include "io/dataset/shards/shard_index.h"
#include "io/dataset/shards/sharded_options.h"
#include "io/dataset/shards/tier_reads.h"

namespace stoker {

// Samples that are parts of a tier's objects (shards), in the order in which they lie there: the
// one class behind all such formats. Which parts, the format says; their places are kept in an
// index beside each shard. Where samples that are expected lie one behind the other, large pieces
// of the shard are read ahead. Thread rule and failures: as Dataset.
class Sharded : public Dataset {
 public:
  // keep_whole: if not 0, shards are read as a whole, and this many are kept in memory.
  Sharded(const ShardedOptions& options, const Inputs& inputs,
          std::unique_ptr<const ShardFormat> format, size_t keep_whole = 0);

  const std::vector<std::string>& classes() const final { return classes_; }
  int64_t size(Split split) const final { return std::ssize(of(split)); }
  SampleInfo info(Split split, int64_t index) const final;
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const final;
  void expect(Split split, std::span<const int64_t> indices) const final;

 protected:
  // StoredRecords' three, for formats whose samples have no parts.
  const Storage& tier_of_records() const { return tier_; }
  Range place_of_record(Split split, int64_t index) const;
  EncodedSample unpack_record(Split split, int64_t index, Buffer& record) const;

 private:
  // Its label is the place of its class.
  struct Sample : ShardSample {
    size_t shard = 0;
  };
  const std::vector<Sample>& of(Split split) const {
    return split == Split::train ? train_ : test_;
  }
  // Samples of a shard that are read by one read.
  struct Run {
    size_t shard = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool goes_on = false;  // where the one before it ended
    std::vector<int64_t> samples = {};
  };
  // What is on its way of a split, by sample.
  using Coming = std::unordered_multimap<int64_t, ReadAhead::Handle>;

  std::vector<Run> runs_of(Split split, std::span<const int64_t> indices) const;
  // The sample; BadSample where it is known to be bad.
  const Sample& good(Split split, int64_t index) const;
  bool take_coming(Split split, int64_t index, Range part, Buffer& out) const;
  void forget(Split split) const;
  // The samples of these shards; `passed_over` gets what is none. UnfitShard leaves all as it was.
  std::vector<Sample> scan(const std::vector<ObjectInfo>& shards, const Notify& notify,
                           std::vector<std::string>& passed_over);
  // Finds the classes, and each sample's place among them.
  void name_classes(const ShardedOptions& options, const Notify& notify);
  // Where the first shard that has samples has found them, and classes (ShardContents::choice).
  struct Choice {
    std::string text;
    std::string shard;
  };
  // UnfitShard where this shard has found them elsewhere.
  void check_choice(const ShardContents& contents, const std::string& shard);
  // A training needs no test split: one that has none of the classes is left out, with a remark.
  void scan_tests(const std::vector<ObjectInfo>& shards, const Notify& notify,
                  std::vector<std::string>& passed_over);
  void leave_out_unlabelled(const std::string& pattern, const Notify& notify);
  // Nothing: as far as it is known, it can be used.
  std::optional<BadSample> why_bad(const Sample& sample) const;
  // Error where there are samples, and none of them can be used.
  void check_usable(const std::vector<Sample>& samples, const std::string& pattern) const;
  [[noreturn]] void fail_empty(const ShardedOptions& options) const;
  void read_range(const std::string& shard, Range range, Buffer& out) const;

  Storage& tier_;
  const std::unique_ptr<const ShardFormat> format_;
  const uint64_t max_bytes_;
  const uint64_t block_;
  const std::unique_ptr<WholeFiles> whole_;  // null: they are not read so
  std::vector<std::string> shards_;
  std::string instead_;  // of samples, in the first shard that has none
  std::optional<Choice> choice_;
  std::vector<Sample> train_;
  std::vector<Sample> test_;
  std::vector<std::string> classes_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::array<Coming, 2> coming_;
  // By shard: where the last sample that was expected ends.
  mutable std::array<std::unordered_map<size_t, uint64_t>, 2> expected_to_;
  mutable ReadAhead ahead_;
};

}  // namespace stoker
