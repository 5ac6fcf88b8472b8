#include <fmt/format.h>

#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/dataset/signed_index.h"

namespace stoker {
namespace {

class PixelShard final : public ShardWriter {
 public:
  PixelShard(std::unique_ptr<ObjectWriter> object, size_t sample_bytes)
      : object_(std::move(object)), sample_bytes_(sample_bytes) {}
  void add(const SampleToWrite& sample) override {
    if (sample.bytes.size() != sample_bytes_) {
      throw Error(ExitCode::data, fmt::format("packed: sample {} has {} bytes, not {}", sample.key,
                                              sample.bytes.size(), sample_bytes_));
    }
    object_->append(sample.bytes);
  }
  void commit() override { object_->commit(); }

 private:
  const std::unique_ptr<ObjectWriter> object_;
  const size_t sample_bytes_;
};

// Writes pixels, and at the end packed.json, because without it they are not a data set.
class PackedWriter final : public ShardFormatWriter {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    WritableInfo info() const { return {.extension = ".pixels", .pixels = true}; }
  };
  PackedWriter(const Options&, const Inputs& inputs)
      : pixels_(inputs.pixels), source_(inputs.source) {}

  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override {
    return std::make_unique<PixelShard>(to.create(key), pixels_.bytes());
  }
  std::string name_of(std::string_view key, int64_t) const override { return std::string(key); }
  void finish(Storage& to, const std::string& prefix, const WrittenSet& written) const override {
    PackedIndex index;
    index.height = pixels_.height;
    index.width = pixels_.width;
    index.channels = pixels_.channels;
    index.source = source_;
    index.classes = written.classes;
    for (const WrittenShard& shard : written.shards) {
      index.shards.push_back(shard.objects.at(0).key.substr(prefix.size()));
      index.shard_samples.push_back(shard.samples.size());
      PackedSamples& samples = shard.split == Split::train ? index.train : index.test;
      for (const WrittenSample& sample : shard.samples) {
        samples.keys.push_back(sample.key);
        samples.labels.push_back(sample.label);
        samples.xxh3.push_back(sample.xxh3);
      }
    }
    const std::string text = packed_json(index);
    write_object(to, prefix + kPackedIndex,
                 {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  Reading reading(const std::string& prefix, const std::string&, bool) const override {
    if (prefix.empty()) return {};
    return {{"folder", prefix.substr(0, prefix.size() - 1)}};
  }

 private:
  const SampleSpec pixels_;
  const std::string source_;
};

STOKER_REGISTER(ShardFormatWriter, "packed", PackedWriter);

}  // namespace
}  // namespace stoker
