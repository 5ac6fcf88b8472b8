#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/formats/writers/image_files.h"
#include "io/dataset/shards/shard_writer.h"

namespace stoker {
namespace {

// WebDataset's reader takes all up to the first dot of the base name for a sample's key, and passes
// over names that begin and end with "__".
std::string tar_name(std::string_view key) {
  std::string name = from_text(plain_path(without_image_extension(key)));
  const auto base = name.begin() + static_cast<std::ptrdiff_t>(name.rfind('/') + 1);
  std::replace(base, name.end(), '.', '_');
  const std::string_view word(name.data() + (base - name.begin()),
                              static_cast<size_t>(name.end() - base));
  if (word.starts_with("__") && word.ends_with("__")) name.back() = '-';
  return name;
}

// A tar file in WebDataset's layout: KEY.jpg and KEY.cls. Its bytes are a function of the samples:
// no time, no owner.
class TarWriter final : public ShardWriter {
 public:
  explicit TarWriter(std::unique_ptr<ObjectWriter> object)
      : object_(std::move(object)), archive_(::archive_write_new()) {
    check(::archive_write_set_format_pax_restricted(archive_.get()));
    check(::archive_write_set_bytes_per_block(archive_.get(), kBlock));
    check(::archive_write_set_bytes_in_last_block(archive_.get(), kRecord));
    check(::archive_write_open(archive_.get(), this, nullptr, push, nullptr));
  }
  // What libarchive writes when it ends goes nowhere.
  ~TarWriter() override { ended_ = true; }
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  void add(const SampleToWrite& sample) override {
    const std::string name = tar_name(sample.key);
    const std::string label = std::to_string(sample.label);
    member(sample, name + "." + image_extension(sample.bytes, sample.key), sample.bytes);
    member(sample, name + ".cls", {reinterpret_cast<const uint8_t*>(label.data()), label.size()});
  }

  void commit() override {
    check(::archive_write_close(archive_.get()));
    object_->commit();
  }

 private:
  void member(const SampleToWrite& sample, const std::string& name, Bytes contents) {
    const std::unique_ptr<archive_entry, decltype([](archive_entry* e) { archive_entry_free(e); })>
        entry(::archive_entry_new());
    ::archive_entry_set_filetype(entry.get(), AE_IFREG);
    ::archive_entry_set_perm(entry.get(), 0644);
    ::archive_entry_set_mtime(entry.get(), 0, 0);
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(contents.size()));
    ::archive_entry_set_pathname(entry.get(), name.c_str());
    check(::archive_write_header(archive_.get(), entry.get()), sample.key);
    const la_ssize_t written =
        ::archive_write_data(archive_.get(), contents.data(), contents.size());
    check(written < 0 ? static_cast<int>(written) : ARCHIVE_OK, sample.key);
  }

  static la_ssize_t push(archive*, void* self, const void* bytes, size_t count) {
    TarWriter& tar = *static_cast<TarWriter*>(self);
    try {
      if (!tar.ended_ && !tar.error_)
        tar.object_->append({static_cast<const uint8_t*>(bytes), count});
    } catch (...) {
      tar.error_ = std::current_exception();  // of a failed archive libarchive would keep memory
    }
    return static_cast<la_ssize_t>(count);
  }
  // A warning says that a name is not ASCII; its bytes are written as they are.
  void check(int result, std::string_view key = "") const {
    if (error_) std::rethrow_exception(error_);
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return;
    const char* const reason = ::archive_error_string(archive_.get());
    throw Error(ExitCode::data, fmt::format("tar_shards: sample {} can't be written: {}", key,
                                            reason == nullptr ? "unknown" : reason));
  }

  static constexpr int kBlock = 256 << 10;
  static constexpr int kRecord = 10 << 10;  // of every tar file the size is a multiple of it

  const std::unique_ptr<ObjectWriter> object_;
  std::exception_ptr error_;
  bool ended_ = false;
  std::unique_ptr<archive, decltype([](archive* a) { ::archive_write_free(a); })> archive_;
};

class TarShardsWriter final : public ShardFormatWriter {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    WritableInfo info() const { return {.extension = ".tar", .unique_names = true}; }
  };
  TarShardsWriter(const Options&, const Inputs&) {}
  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override {
    return std::make_unique<TarWriter>(to.create(key));
  }
  std::string name_of(std::string_view key, int64_t) const override {
    return to_text(tar_name(key));
  }
};

STOKER_REGISTER(ShardFormatWriter, "tar_shards", TarShardsWriter);

}  // namespace
}  // namespace stoker
