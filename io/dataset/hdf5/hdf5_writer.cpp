#include "io/dataset/hdf5/hdf5_writer.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/file.h"
#include "io/dataset/hdf5/process.h"

namespace stoker {
namespace {

constexpr size_t kBlock = size_t{1} << 20;

void append_words(std::string& to, const void* words, size_t bytes) {
  to.append(static_cast<const char*>(words), bytes);
}

// libhdf5 makes a file whose images are a hole; the samples are put into it on the way to the tier.
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
    const FileDescriptor file(::memfd_create("stoker-hdf5", MFD_CLOEXEC));
    if (!file) throw_errno("write", key_, errno);
    const uint64_t hole = write_frame(file.get());
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) throw_errno("write", key_, errno);
    const auto end = static_cast<uint64_t>(status.st_size);
    if (hole > end || offsets_.back() > end - hole) {
      throw Error(ExitCode::bug, key_ + ": the file that libhdf5 made has no place for the images");
    }
    copy(file.get(), 0, hole);
    for (const Buffer& image : images_) object_->append(image.bytes());
    copy(file.get(), hole + offsets_.back(), end);
    object_->commit();
  }

 private:
  // Where the images belong.
  uint64_t write_frame(int file) const {
    size_t width = 1;
    for (const std::string& key : keys_) width = std::max(width, key.size());
    std::string texts;
    append_words(texts, offsets_.data(), offsets_.size() * sizeof(uint64_t));
    append_words(texts, labels_.data(), labels_.size() * sizeof(int64_t));
    for (const std::string& key : keys_) texts.append(key).append(width - key.size(), '\0');
    const auto read = [&](Range range, Buffer& out) {
      std::memcpy(out.resize(range.length), texts.data() + range.offset, range.length);
    };
    const Buffer answer = run_hdf5({"shard " + key_,
                                    {"write", std::to_string(labels_.size()), std::to_string(width),
                                     std::to_string(offsets_.back())},
                                    read,
                                    texts.size(),
                                    file});
    uint64_t hole = UINT64_MAX;
    if (answer.size() == sizeof hole) std::memcpy(&hole, answer.data(), sizeof hole);
    return hole;
  }

  void copy(int file, uint64_t begin, uint64_t end) {
    Buffer block;
    while (begin < end) {
      uint8_t* const bytes = block.resize(std::min<uint64_t>(end - begin, kBlock));
      const ssize_t count = uninterrupted(
          [&] { return ::pread(file, bytes, block.size(), static_cast<off_t>(begin)); });
      if (count <= 0) throw_errno("write", key_, count < 0 ? errno : EIO);
      object_->append(block.bytes().first(static_cast<size_t>(count)));
      begin += static_cast<uint64_t>(count);
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
