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
    v("seed", seed,
      "The seed of the order in which shards are drawn. It is the same in every run, whatever "
      "run.seed is.");
    v("train", train, "The share of the shards that is trained on: the first ones of that order.",
      Limits{0, 1});
    v("test", test,
      "The share of the shards that is tested on: the next ones. The remaining shards are not "
      "used.",
      Limits{0, 1});
  }
};

// The options of every format whose samples lie in a few large objects. A value.
struct ShardedOptions {
  TierName storage;
  // Patterns of keys, as in a shell.
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
    v.required("storage", storage, same_results("The tier that holds the shards."));
    v("train", train, "Which shards to train on: a pattern of keys, with * and ?.");
    v("test", test,
      "Which shards to test on: a pattern of keys. If it matches no shard, nothing is tested.");
    v("split", split,
      "Divide the shards of `train` at random: {seed, train, test} gives the seed of the draw and "
      "the shares. Without it the patterns `train` and `test` choose the shards.");
    v("classes", classes,
      "The object of that tier that names the classes, one on each line, in the order of the "
      "labels. If it does not exist, the classes have the names that the samples give, or else "
      "their numbers.");
    v("max_sample_bytes", max_sample_bytes, "A sample with more bytes than this is a bad one.");
    v("block", block,
      same_results("Bytes of the pieces in which samples are read that lie one behind the other "
                   "(loader.order: shards)."));
    v("read_ahead", read_ahead,
      same_results("The most bytes of such pieces that are in memory before they are asked for."));
    v("readers", readers,
      same_results("Number of threads that read such pieces, each at another place."),
      Limits{1, 1024});
    v("on_error", on_error, "What to do with bad samples.");
  }
  DatasetInfo info() const { return {storage.name}; }
  void check(const Section& section) const;
};

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
  // The objects of the tier that fit the pattern, sorted by key.
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
  mutable std::mutex mutex_;  // guards what follows
  mutable std::array<Coming, 2> coming_;
  // By shard: where the last sample that was expected ends.
  mutable std::array<std::unordered_map<size_t, uint64_t>, 2> expected_to_;
  mutable ReadAhead ahead_;
};

}  // namespace stoker
