#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/system/memory.h"
#include "io/dataset/dataset.h"

namespace stoker {

// The text of an index that is kept beside data: {"checksum": XXH3-128 of index.dump(), "index":
// {"format": ..., "version": ..., ...}}. It guards against damage, not against malice. Any thread.

// `index` with its format and version, and signed.
std::string signed_json(nlohmann::json index, const std::string& format, int version);
// The index again. Error(ExitCode::data): the text is damaged, or of another format or version, or
// has a number that is not whole.
nlohmann::json parse_signed_json(Bytes text, const std::string& format, int version);

// The format of packed pixels, as `stoker dataset convert` writes it and the data set `packed`
// reads it: objects of a tier below one folder.
//
//   train-00000.pixels ...  the pixels of some training samples one after another, without gaps
//   test-00000.pixels ...   the same of test samples
//   packed.json             written last: {"checksum": XXH3-128 of index.dump(), "index": {...}}

inline constexpr const char* kPackedIndex = "packed.json";

// The samples of one split, in their order in the shards: three fields of equal length. A value.
struct PackedSamples {
  std::vector<std::string> keys;
  std::vector<int64_t> labels;
  // packed_checksum() of the pixels.
  std::vector<uint64_t> xxh3;
};

// What packed.json says. A value.
struct PackedIndex {
  // The size of each sample, which has uint8 pixels in rows of interleaved RGB. Both are from 1 to
  // 65,535.
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;
  // What the pixels are of, for people.
  std::string source;
  // By label.
  std::vector<std::string> classes;
  // Names in the folder, in the order of the samples: training samples first.
  std::vector<std::string> shards;
  // How many are in each.
  std::vector<uint64_t> shard_samples;
  PackedSamples train;
  PackedSamples test;

  // The bytes of each sample's pixels.
  size_t sample_bytes() const { return static_cast<size_t>(height * width * channels); }
  uint64_t samples() const { return train.keys.size() + test.keys.size(); }
  // The bytes of shard `shard` in [0, shards.size()).
  uint64_t shard_bytes(size_t shard) const { return shard_samples[shard] * sample_bytes(); }
};

// XXH3-64 of a sample's pixels: guards against damage, not against malice. Any thread.
uint64_t packed_checksum(Bytes pixels);

// The text of packed.json; parse_packed() of it gives the same index. Pure; any thread.
std::string packed_json(const PackedIndex& index);
// The index that the text describes; it agrees with itself, and what it says of the shards is still
// to be checked. Throws Error(ExitCode::data): no such index, another version, damaged or
// contradicting itself. `name` is for the message.
PackedIndex parse_packed(Bytes text, const std::string& name);

}  // namespace stoker
