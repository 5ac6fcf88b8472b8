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
#include "io/dataset/shards/read_ahead.h"
#include "io/dataset/shards/shard_index.h"
#include "io/dataset/whole_files.h"

namespace stoker {

// Which shards of one pattern train and which test. A value.
struct ShardSplit {
  uint64_t seed = 12345;
  double train = 0.8;
  double test = 0.1;
  template <class V>
  void visit(V& v) {
    v("seed", seed, "of the order of the shards: the same in every run, whatever run.seed");
    v("train", train, "share of the shards, the first ones of that order", Limits{0, 1});
    v("test", test, "share of them, the next ones; those behind are left out", Limits{0, 1});
  }
};

// The options of every format whose samples lie in a few large objects. A value.
struct ShardedOptions {
  TierName storage;
  // Patterns of keys, as of a shell.
  std::string train;
  std::string test;
  std::optional<ShardSplit> split;
  std::string classes = "classes.txt";
  ByteSize max_sample_bytes{uint64_t{64} << 20};
  ByteSize block{uint64_t{8} << 20};
  ByteSize read_ahead{uint64_t{256} << 20};
  int64_t readers = 1;
  OnError on_error;
  // The name of the format, under which `stoker dataset convert` writes it; for messages.
  const char* format;
  ShardedOptions(const char* format, std::string train_default, std::string test_default)
      : train(std::move(train_default)), test(std::move(test_default)), format(format) {}
  template <class V>
  void visit(V& v) {
    v.required("storage", storage, same_results("tier that holds the shards"));
    v("train", train, "shards to train on: a pattern with * and ?");
    v("test", test, "shards to test on; a pattern that fits none: nothing is tested");
    v("split", split,
      "{seed, train, test}: the shards of `train` in an order that is drawn once, and shares of "
      "it; absent: the two patterns say which shards train and which test");
    v("classes", classes,
      "object of that tier with the names of the classes, a line each, by label; where there is "
      "none, classes have their numbers, or the names that the samples say");
    v("max_sample_bytes", max_sample_bytes, "a larger one is a bad sample");
    v("block", block,
      same_results("samples that are read one behind the other (loader.order: shards) are read by "
                   "pieces of so many bytes"));
    v("read_ahead", read_ahead,
      same_results("bytes of such pieces in memory before they are asked for"));
    v("readers", readers, same_results("threads that read such pieces, each at another place"),
      Limits{1, 1024});
    v("on_error", on_error, "what to do with bad samples");
  }
  DatasetInfo info() const { return {storage.name}; }
  void check(const Section& section) const;
};

// Samples that are parts of a tier's objects (shards), in the order in which they lie there: the
// one class behind all such formats. Which parts, the format says; their places are kept in an
// index beside each shard. Of samples that are expected one behind the other in a shard, large
// pieces are read ahead. Thread rule and failures: as Dataset.
class Sharded : public Dataset {
 public:
  // keep_whole: 0, or shards are read as a whole, and so many kept in memory.
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
  // The sample; BadSample where it is known to be one.
  const Sample& good(Split split, int64_t index) const;
  bool take_coming(Split split, int64_t index, Range part, Buffer& out) const;
  void forget(Split split) const;
  // Says why there is nothing to train on.
  [[noreturn]] void fail_empty(const ShardedOptions& options) const;
  // Objects of the tier, by key.
  std::vector<ObjectInfo> find(const std::string& pattern) const;
  // Fills in the samples of both splits.
  void scan_all(const ShardedOptions& options, const Notify& notify);
  std::vector<Sample> scan(const std::vector<ObjectInfo>& shards, const Notify& notify);
  void name_classes(const std::string& key);
  void read_range(const std::string& shard, Range range, Buffer& out) const;

  Storage& tier_;
  const std::unique_ptr<const ShardFormat> format_;
  const uint64_t max_bytes_;
  const uint64_t block_;
  const std::unique_ptr<WholeFiles> whole_;  // null: they are not read so
  std::vector<std::string> shards_;
  std::vector<Sample> train_;
  std::vector<Sample> test_;
  std::vector<std::string> classes_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::array<Coming, 2> coming_;
  // By shard: where the last sample that was expected ends.
  mutable std::array<std::unordered_map<size_t, uint64_t>, 2> expected_to_;
  mutable ReadAhead ahead_;
};

}  // namespace stoker
