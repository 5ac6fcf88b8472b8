#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/shards/object_stream.h"
#include "io/dataset/shards/sharded.h"

namespace stoker {
namespace {

// A tar file of a tier, member by member. libarchive knows ustar, GNU and pax names.
class Tar {
 public:
  Tar(const Storage& tier, const ObjectInfo& shard)
      : name_(shard.key), stream_(tier, shard), archive_(::archive_read_new()) {
    ::archive_read_support_format_tar(archive_.get());
    check(::archive_read_open2(archive_.get(), this, nullptr, pull, skip, nullptr));
  }

  // Null: the end, or the file is cut behind some members.
  archive_entry* next() {
    archive_entry* entry = nullptr;
    const int result = ::archive_read_next_header(archive_.get(), &entry);
    if (result == ARCHIVE_EOF) return nullptr;
    cut_ = !error_ && members_ > 0 && reason().starts_with("Truncated");
    if (cut_) return nullptr;
    check(result);
    ++members_;
    return entry;
  }
  // Whether the file did not end as a tar file does.
  bool cut() const { return cut_; }
  // Where the contents of the current member begin.
  uint64_t data_offset() const {
    return static_cast<uint64_t>(::archive_filter_bytes(archive_.get(), 0));
  }
  // The first bytes of the current member, at most `most`.
  std::string text(size_t most) {
    std::string text(most, '\0');
    const la_ssize_t count = ::archive_read_data(archive_.get(), text.data(), text.size());
    check(count < 0 ? static_cast<int>(count) : ARCHIVE_OK);
    text.resize(static_cast<size_t>(count));
    return text;
  }

 private:
  static la_ssize_t pull(archive*, void* self, const void** block) {
    Tar& tar = *static_cast<Tar*>(self);
    try {
      tar.stream_.skip(std::exchange(tar.taken_, 0));
      const Bytes bytes = tar.stream_.peek(kBlock);
      tar.taken_ = bytes.size();
      *block = bytes.data();
      return static_cast<la_ssize_t>(bytes.size());
    } catch (...) {
      tar.error_ = std::current_exception();
      return ARCHIVE_FATAL;
    }
  }
  static la_int64_t skip(archive*, void* self, la_int64_t count) {
    Tar& tar = *static_cast<Tar*>(self);
    tar.stream_.skip(std::exchange(tar.taken_, 0));
    const auto most = static_cast<uint64_t>(std::max<la_int64_t>(count, 0));
    const uint64_t skipped = std::min(most, tar.stream_.left());
    tar.stream_.skip(skipped);
    return static_cast<la_int64_t>(skipped);
  }
  // libarchive's warnings (an odd file name) do not matter here.
  void check(int result) const {
    if (error_) std::rethrow_exception(error_);
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return;
    throw Error(
        ExitCode::data,
        fmt::format("dataset: shard {} is no tar file, or a damaged or compressed one ({}): "
                    "repair it, unpack it, or take it out of the pattern",
                    name_, reason()));
  }
  std::string reason() const {
    const char* const text = ::archive_error_string(archive_.get());
    return text == nullptr ? "it can't be read" : text;
  }

  static constexpr uint64_t kBlock = uint64_t{64} << 10;

  const std::string name_;
  ObjectStream stream_;
  uint64_t taken_ = 0;  // by libarchive, of the stream
  int64_t members_ = 0;
  bool cut_ = false;
  std::exception_ptr error_;
  std::unique_ptr<archive, decltype([](archive* a) { ::archive_read_free(a); })> archive_;
};

// WebDataset's layout: neighbours whose names are the same up to the first dot after the last '/'
// are a sample, and what is behind the dot says what each is. Its reader: webdataset 1.0,
// tariterators.py.
class TarFormat final : public ShardFormat {
 public:
  TarFormat(std::vector<std::string> images, std::string label)
      : images_(std::move(images)), label_(std::move(label)) {}

  std::string name() const override {
    return fmt::format("tar 1, images {}, labels {}", fmt::join(images_, " "), label_);
  }

  std::vector<ShardSample> scan(const Storage& tier, const ObjectInfo& shard) const override {
    std::vector<ShardSample> samples;
    Group group;
    Tar tar(tier, shard);
    while (archive_entry* entry = tar.next()) {
      const char* pathname = ::archive_entry_pathname(entry);
      const std::string path = to_text(pathname == nullptr ? "" : pathname);
      const auto [key, extension] = parts(path);
      if (::archive_entry_filetype(entry) != AE_IFREG || extension.empty() || is_comment(key))
        continue;
      if (key != group.sample.key) {
        finish(group, samples);
        group = {};
        group.sample.key = key;
      }
      add(group, extension, entry, tar, shard.bytes);
    }
    finish(group, samples);
    const bool known = !samples.empty() && !samples.back().bad.empty();
    if (tar.cut() && !known)
      samples.push_back({shard.key, 0, 0, 0, "its shard ends here, too early"});
    return samples;
  }

  Bytes payload(Buffer& stored) const override { return stored.bytes(); }

 private:
  struct Group {
    ShardSample sample;
    std::set<std::string> extensions;
    bool image = false;
  };

  // Key and extension; no extension: no part of a sample.
  static std::pair<std::string, std::string> parts(const std::string& path) {
    const size_t base = path.rfind('/') + 1;  // npos + 1 is 0
    const size_t dot = path.find('.', base);
    if (dot == std::string::npos || dot == base) return {};
    std::string extension = path.substr(dot + 1);
    for (char& c : extension) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return {path.substr(0, dot), extension};
  }
  static bool is_comment(const std::string& key) {
    const std::string base = key.substr(key.rfind('/') + 1);
    return base.starts_with("__") && base.ends_with("__");
  }

  void add(Group& group, const std::string& extension, archive_entry* entry, Tar& tar,
           uint64_t shard_bytes) const {
    ShardSample& sample = group.sample;
    if (!group.extensions.insert(extension).second) {
      sample.bad = "two members end in ." + extension;
    } else if (::archive_entry_hardlink(entry) != nullptr ||
               ::archive_entry_sparse_count(entry) > 0) {
      sample.bad = "member ." + extension + " is a link or sparse";
    } else if (extension == label_) {
      read_label(sample, tar.text(32));
    } else if (std::ranges::find(images_, extension) != images_.end()) {
      if (group.image) sample.bad = "it has two images";
      group.image = true;
      sample.offset = tar.data_offset();
      sample.bytes = static_cast<uint64_t>(std::max<int64_t>(0, ::archive_entry_size(entry)));
      const uint64_t left = shard_bytes - std::min(sample.offset, shard_bytes);
      if (sample.bytes > left) sample.bad = "its shard ends in the middle of it";
    }
  }

  void read_label(ShardSample& sample, const std::string& text) const {
    const size_t end = text.find_last_not_of(" \r\n\t") + 1;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + end, sample.label);
    const bool whole = error == std::errc() && rest == text.data() + end && sample.label >= 0;
    if (!whole) sample.bad = "member ." + label_ + " is no number of a class";
  }

  // A group without an image is not a sample.
  static void finish(const Group& group, std::vector<ShardSample>& samples) {
    if (group.image) samples.push_back(group.sample);
  }

  const std::vector<std::string> images_;
  const std::string label_;
};

// Tar files in WebDataset's layout.
class TarShards final : public Sharded {
 public:
  struct Options : ShardedOptions {
    std::vector<std::string> images{"jpg", "jpeg", "png", "bmp", "webp"};
    std::string label = "cls";
    Options() : ShardedOptions("tar_shards", "train*.tar", "test*.tar") {}
    template <class V>
    void visit(V& v) {
      ShardedOptions::visit(v);
      v("images", images,
        "Which member of a sample is its image. A member is known by the end of its name, after "
        "the first dot.");
      v("label", label,
        "Which member is the number of its class. Where a sample has no such member, the first "
        "folder of its name is the class.");
    }
  };
  TarShards(const Options& options, const Inputs& inputs)
      : Sharded(options, inputs, std::make_unique<TarFormat>(options.images, options.label)) {}
};

STOKER_REGISTER(Dataset, "tar_shards", TarShards);

}  // namespace
}  // namespace stoker
