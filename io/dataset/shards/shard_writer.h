#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/core/config/registry.h"
#include "io/core/sample_spec.h"
#include "io/core/system/memory.h"
#include "io/dataset/dataset.h"
#include "io/storage/storage.h"

namespace stoker {

// A sample as a format writes it. A value that owns nothing: it lives as long as the call.
struct SampleToWrite {
  std::string_view key;
  int64_t label = 0;
  // Encoded, as Dataset::read gives them.
  Bytes bytes;
};

// One object of a data set that is being written. One thread at a time; must not outlive its tier.
// Nobody sees the object before commit() returns; destroyed without it, it leaves no trace. Throws
// IoError; Error(ExitCode::data), which names the sample, for one that the format cannot hold.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;
  virtual void add(const SampleToWrite& sample) = 0;
  // Once, last. Blocks until the object is durable.
  virtual void commit() = 0;
};

// What a format writes, before it is made. A value.
struct WritableInfo {
  // How the names of its objects end: "train-00003" + extension.
  std::string extension;
  // Its samples are pixels, as the experiment's decoder makes them, and not what the source holds.
  bool pixels = false;
  // Its reader gives the samples in the order in which they were written.
  bool ordered = true;
  // Each sample is an object of its own.
  bool apart = false;
  // Two samples of a split whose name_of() is the same can't both be written.
  bool unique_names = false;
};

// A sample that was written. A value.
struct WrittenSample {
  // As its source calls it.
  std::string key;
  int64_t label = 0;
  uint64_t bytes = 0;
  // XXH3-64 of the bytes.
  uint64_t xxh3 = 0;
};

// A shard that is durable. A value.
struct WrittenShard {
  Split split = Split::train;
  // What it consists of, in the order of the commits: one object, or, of formats that keep samples
  // apart, one for each sample.
  std::vector<ObjectInfo> objects;
  // In the order in which they were added.
  std::vector<WrittenSample> samples;
};

// A whole data set that was written. A value.
struct WrittenSet {
  // Names by label.
  std::vector<std::string> classes;
  // In the order of the samples, those of Split::train first.
  std::vector<WrittenShard> shards;
};

// A format as `stoker dataset convert` writes it; registered under the name of the data set that
// reads it again. Immutable; any thread. create() is all that a format in shards needs.
class ShardFormatWriter {
 public:
  static constexpr const char* kKind = "format";
  using Info = WritableInfo;
  struct Inputs {
    // Names by label.
    const std::vector<std::string>& classes;
    // What each sample is, if samples are pixels.
    SampleSpec pixels = {};
    // What is written, for people.
    std::string source = {};
  };
  // Options of the data set that reads it, beside `type` and `storage`: name and value.
  using Reading = std::vector<std::pair<std::string, std::string>>;
  virtual ~ShardFormatWriter() = default;

  // Begins an object of that key. IoError.
  virtual std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const = 0;
  // What its reader will call this sample, but for an image's extension, and perhaps behind a
  // folder; empty: a name of its own, which says nothing of the source.
  virtual std::string name_of(std::string_view key, int64_t label) const;
  // Once, when all shards are durable: what remains to be written below `prefix`, which is empty or
  // ends with '/'. Here: classes.txt, which comes last, so that where it is there all is.
  virtual void finish(Storage& to, const std::string& prefix, const WrittenSet& written) const;
  // How its reader finds what lies below `prefix`; extension: as WritableInfo says; tests: whether
  // there are test samples. Here: train, test and classes of ShardedOptions, whose defaults fit
  // without a prefix.
  virtual Reading reading(const std::string& prefix, const std::string& extension,
                          bool tests) const;
};

template <>
Registry<ShardFormatWriter>& Registry<ShardFormatWriter>::global();

}  // namespace stoker
