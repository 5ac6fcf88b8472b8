#include "io/loader/lmdbio/database/lmdb_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/loader/lmdbio/database/datum.h"
#include "io/loader/lmdbio/database/lmdb_file.h"

namespace stoker {
namespace {

// The most pages of a transaction. They are 256 MiB, so that it has Caffe's 1,000 records if these
// have up to 256 KiB: readers may compute where records lie from how often the writer has
// committed.
constexpr uint64_t kTransactionPages = 65536;

class LmdbWriter final : public ShardWriter {
 public:
  LmdbWriter(Storage& to, const std::string& key, std::optional<SampleSpec> pixels)
      : writer_(to.create(key)),
        pixels_(pixels),
        path_(folder_.path() + "/data.mdb"),
        file_(path_, kTransactionPages) {}

  void add(const SampleToWrite& sample) override {
    check_sample(sample);
    const auto label = static_cast<int32_t>(sample.label);
    file_.add(sample.key, pixels_ ? pixel_datum(sample.bytes, *pixels_, label)
                                  : encoded_datum(sample.bytes, label));
  }

  void commit() override {
    file_.finish();
    const FileDescriptor made = open_file("read", path_, O_RDONLY);
    Buffer block;
    for (;;) {
      block.resize(size_t{4} << 20);
      const ssize_t count =
          uninterrupted([&] { return ::read(made.get(), block.data(), block.size()); });
      if (count < 0) throw_errno("read", path_, errno);
      if (count == 0) break;
      writer_->append(block.bytes().first(static_cast<size_t>(count)));
    }
    writer_->commit();
  }

 private:
  static void check_sample(const SampleToWrite& sample) {
    const auto fail = [&](const std::string& why) {
      throw Error(ExitCode::data, fmt::format("sample {}: {}", sample.key, why));
    };
    if (sample.label < 0 || sample.label > std::numeric_limits<int32_t>::max()) {
      fail(fmt::format("its label {} does not fit into a Datum", sample.label));
    }
    constexpr size_t kMostBytes = size_t{2} << 30;  // protobuf's limit
    if (sample.bytes.size() >= kMostBytes - 64) fail("it is too large for a Datum (2 GiB)");
  }

  const std::unique_ptr<ObjectWriter> writer_;
  const std::optional<SampleSpec> pixels_;
  const TemporaryFolder folder_{"lmdb"};
  const std::string path_;
  LmdbFile file_;
};

}  // namespace

std::unique_ptr<ShardWriter> create_lmdb(Storage& to, const std::string& key,
                                         std::optional<SampleSpec> pixels) {
  return std::make_unique<LmdbWriter>(to, key, pixels);
}

}  // namespace stoker
