#include "io/dataset/formats/hdf5/hdf5_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/formats/hdf5/hdf5_frame.h"
#include "io/dataset/formats/hdf5/process.h"

namespace stoker {
namespace {

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

class Hdf5ShardWriter final : public ShardWriter {
 public:
  Hdf5ShardWriter(Storage& to, const std::string& key) : key_(key), object_(to.create(key)) {
    (void)hdf5_program();
  }

  void add(const SampleToWrite& sample) override {
    if (sample.key.size() > kHdf5MaxKey || sample.key.find('\0') != std::string_view::npos) {
      throw Error(ExitCode::data,
                  fmt::format("{}: sample {} has a name that HDF5 shards do not hold: at most {} "
                              "bytes, none of them 0",
                              key_, sample.key.substr(0, 100), kHdf5MaxKey));
    }
    if (labels_.size() == kHdf5MaxSamples) {
      throw Error(ExitCode::data, fmt::format("{}: sample {} is more than an HDF5 shard holds: {}",
                                              key_, sample.key, kHdf5MaxSamples));
    }
    Buffer copy;
    std::ranges::copy(sample.bytes, copy.resize(sample.bytes.size()));
    images_.push_back(std::move(copy));
    offsets_.push_back(offsets_.back() + sample.bytes.size());
    labels_.push_back(sample.label);
    keys_.emplace_back(sample.key);
  }

  void commit() override {
    size_t width = 1;
    for (const std::string& key : keys_) width = std::max(width, key.size());
    const uint64_t count = labels_.size();
    const Hdf5Frame frame(key_, {{"offsets", "u8", {count + 1}},
                                 {"labels", "i8", {count}},
                                 {"keys", fmt::format("S{}", width), {count}},
                                 {"images", "u1", {offsets_.back()}}});
    frame.write([&](Bytes bytes) { object_->append(bytes); },
                [&](size_t set) { append_values(set, width); });
    object_->commit();
  }

 private:
  // Appends the values of the data set with that number in commit().
  void append_values(size_t set, size_t width) {
    switch (set) {
      case 0:
        return object_->append(bytes_of(offsets_));
      case 1:
        return object_->append(bytes_of(labels_));
      case 2:
        for (const std::string& key : keys_) {
          std::vector<char> padded(key.begin(), key.end());
          padded.resize(width, '\0');
          object_->append(bytes_of(padded));
        }
        return;
      default:
        for (const Buffer& image : images_) object_->append(image.bytes());
    }
  }

  const std::string key_;
  std::vector<Buffer> images_;
  std::vector<uint64_t> offsets_{0};
  std::vector<int64_t> labels_;
  std::vector<std::string> keys_;
  const std::unique_ptr<ObjectWriter> object_;
};

}  // namespace

std::unique_ptr<ShardWriter> Hdf5Writer::create(Storage& to, const std::string& key) const {
  return std::make_unique<Hdf5ShardWriter>(to, key);
}

}  // namespace stoker
