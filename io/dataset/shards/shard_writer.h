#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/memory.h"
#include "io/core/registry.h"
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
  // Of its objects: "train-00003" + extension.
  std::string extension;
};

// A format as `stoker dataset convert` writes it; registered under the name of the data set that
// reads it again. Immutable; any thread.
class ShardFormatWriter {
 public:
  static constexpr const char* kKind = "writable format";
  using Info = WritableInfo;
  struct Inputs {
    // Names by label.
    const std::vector<std::string>& classes;
  };
  virtual ~ShardFormatWriter() = default;
  // Begins an object of that key. IoError.
  virtual std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const = 0;
};

template <>
Registry<ShardFormatWriter>& Registry<ShardFormatWriter>::global();

}  // namespace stoker
