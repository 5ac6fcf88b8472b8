#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "io/core/config/config.h"
#include "io/dataset/class_names.h"
#include "io/dataset/dataset.h"

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
  std::string usual_test;  // its default
  std::optional<ShardSplit> split;
  std::string classes = kClassNames;
  int64_t label_offset = 0;
  ByteSize max_sample_bytes{uint64_t{64} << 20};
  ByteSize block{uint64_t{8} << 20};
  ByteSize read_ahead{uint64_t{256} << 20};
  int64_t readers = 1;
  OnError on_error;
  // The command that writes some into DIRECTORY; for messages.
  std::string made_by;
  ShardedOptions(const char* format, std::string train_default, std::string test_default)
      : train(std::move(train_default)),
        test(test_default),
        usual_test(std::move(test_default)),
        made_by(std::string("stoker dataset convert CONFIG DIRECTORY --format ") + format) {}
  template <class V>
  void visit(V& v) {
    v.required("storage", storage, same_results("The tier that holds the shards."));
    v("train", train,
      "Which shards to train on: a pattern of keys, with *, ?, {a,b} and {000..009}.");
    v("test", test,
      "Which shards to test on: a pattern of keys. If it matches no shard, nothing is tested.");
    v("split", split,
      "Divide the shards of `train` at random: {seed, train, test} gives the seed of the draw and "
      "the shares. Without it the patterns `train` and `test` choose the shards.");
    v("classes", classes,
      "The object of that tier that names the classes, one on each line, in the order of the "
      "labels. If it does not exist, the classes have the names that the samples give, or else "
      "their numbers.");
    v("label_offset", label_offset,
      "The number of the first class. 1: the labels in the shards begin at 1, as those of ImageNet "
      "that TensorFlow's scripts pack.",
      Limits{0, 1e6});
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

}  // namespace stoker
