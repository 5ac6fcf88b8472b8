#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/shards/sharded.h"

// Files of records without a frame, and beside each two files that say where its records lie:
// NAME.off.idx has the offset of each, NAME.sz.idx its length, as unsigned 64-bit numbers,
// little-endian. DLIO writes and reads them so; they are the idea of Megatron's indexed data sets.

namespace stoker {
namespace {

std::vector<uint64_t> read_numbers(const Storage& tier, const std::string& key,
                                   const std::string& shard) {
  Buffer bytes;
  try {
    tier.read(key, bytes);
  } catch (const IoError& error) {
    if (!is_absent(error)) throw;
    throw Error(ExitCode::data,
                fmt::format("dataset: shard {} has no {} beside it, which says where its records "
                            "lie: write both again, or take it out of the pattern",
                            shard, key));
  }
  if (bytes.size() % sizeof(uint64_t) != 0) {
    throw Error(
        ExitCode::data,
        fmt::format("dataset: {} has {} bytes, and no whole number of 64-bit numbers: write "
                    "it again, or take shard {} out of the pattern",
                    key, bytes.size(), shard));
  }
  std::vector<uint64_t> numbers(bytes.size() / sizeof(uint64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

class IndexedBinaryFormat final : public ShardFormat {
 public:
  std::string name() const override { return "indexed_binary 1"; }

  ShardContents scan(const Storage& tier, const ObjectInfo& shard) const override {
    const std::vector<uint64_t> offsets = read_numbers(tier, shard.key + ".off.idx", shard.key);
    const std::vector<uint64_t> sizes = read_numbers(tier, shard.key + ".sz.idx", shard.key);
    if (offsets.size() != sizes.size()) {
      throw Error(ExitCode::data,
                  fmt::format("dataset: shard {} has {} offsets (.off.idx) and {} sizes (.sz.idx): "
                              "write it again, or take it out of the pattern",
                              shard.key, offsets.size(), sizes.size()));
    }
    ShardContents contents;
    contents.samples.reserve(offsets.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
      ShardSample& sample = contents.samples.emplace_back();
      sample.key = fmt::format("{}/{}", shard.key, i);
      sample.label = 0;
      if (offsets[i] > shard.bytes || sizes[i] > shard.bytes - offsets[i]) {
        sample.bad =
            BadSample(BadReason::truncated,
                      fmt::format("its index says {} bytes from {} on, and its shard has {}",
                                  sizes[i], offsets[i], shard.bytes));
        continue;
      }
      sample.offset = offsets[i];
      sample.bytes = sizes[i];
    }
    return contents;
  }

  std::string label_rule() const override { return ""; }  // its records are of one class
  Bytes payload(Buffer& stored) const override { return stored.bytes(); }
};

class IndexedBinary final : public Sharded {
 public:
  struct Options : ShardedOptions {
    Options()
        : ShardedOptions("indexed_binary", "train/*.indexed_binary", "test/*.indexed_binary") {
      made_by = "stoker import-dlio WORKLOAD --generate DIRECTORY";
    }
  };
  IndexedBinary(const Options& options, const Inputs& inputs)
      : Sharded(options, inputs, std::make_unique<IndexedBinaryFormat>()) {}
};

STOKER_REGISTER(Dataset, "indexed_binary", IndexedBinary);

}  // namespace
}  // namespace stoker
