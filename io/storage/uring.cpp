#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "io/metrics/tier_meter.h"
#include "io/storage/expected_reads.h"
#include "io/storage/file_objects.h"
#include "io/storage/uring_files.h"
#include "io/storage/uring_queue.h"

namespace stoker {
namespace {

struct UringOptions {
  Path root;
  ByteSize block{256 << 10};
  int64_t queue_depth = 16;
  bool direct = false;
  int64_t files_in_flight = 64;
  ByteSize ahead{uint64_t{64} << 20};
  template <class V>
  void visit(V& v) {
    v.required("root", root, "The directory that holds the objects.");
    v("block", block,
      "Bytes of one request, from 4KiB to 1GiB. With `direct` it has to be a multiple of 4KiB.");
    v("queue_depth", queue_depth,
      "The most requests of one read that are under way at the same time.", Limits{1, 4096});
    v("direct", direct, "Whether reads go past the page cache.");
    v("files_in_flight", files_in_flight,
      "The most reads of files that are begun before a loader asks for them. Has no effect with "
      "`direct`. 0: none is begun early.",
      Limits{0, 4096});
    v("ahead", ahead, "The most bytes of memory that such early reads may fill.");
  }
  StorageInfo info() const { return {.folders = {root.value}}; }
  void check(const Section& section) const {
    constexpr uint64_t kMin = 4096, kMax = 1 << 30;
    if (block.bytes < kMin || block.bytes > kMax) section.fail("block", "must be 4KiB to 1GiB");
    if (direct && block.bytes % kDirectAlignment != 0) {
      section.fail("block", "must be a multiple of 4KiB where direct is true");
    }
  }
};

// What was begun of an object counts no more once it is another one.
class ForgettingWriter final : public ObjectWriter {
 public:
  ForgettingWriter(std::unique_ptr<ObjectWriter> inner, std::function<void()> forget)
      : inner_(std::move(inner)), forget_(std::move(forget)) {}
  void append(Bytes bytes) override { inner_->append(bytes); }
  void commit() override {
    inner_->commit();
    forget_();
  }

 private:
  const std::unique_ptr<ObjectWriter> inner_;
  const std::function<void()> forget_;
};

// Files below a directory, each read by several requests of io_uring at once; files that are
// expected are read side by side before anybody asks for them.
class UringStorage final : public FileObjects {
 public:
  using Options = UringOptions;
  UringStorage(Options options, const Inputs& inputs)
      : FileObjects(std::move(options.root.value),
                    options.direct ? FileAccess::direct : FileAccess::buffered, inputs),
        meter_(inputs.meter),
        shape_{static_cast<unsigned>(options.queue_depth), options.block.bytes},
        files_in_flight_(options.direct ? 0 : static_cast<unsigned>(options.files_in_flight)),
        expected_(options.ahead.bytes, [this](const ExpectedRead& what) {
          return files_->begin(path_of(what.key), what.range);
        }) {
    std::string why;
    refused_ = !Uring::open(why);
    if (refused_) inputs.remark(why + ": reads are by pread");
  }

  void read(const std::string& key, Buffer& out, Range range) const override {
    if (refused_) return read_by(pread_file, key, out, range);
    if (const auto coming = expected_.take(key, range)) {
      if (files_->take(**coming, out)) return;
    }
    const auto read = [this](const ObjectFile& file, uint8_t* data, uint64_t bytes,
                             uint64_t offset) {
      std::unique_ptr<Uring> queue = take_queue();
      if (queue) {
        const int64_t count =
            queue->read(file.file.get(), data, bytes, offset, file.direct ? kDirectAlignment : 1);
        if (!queue->broken()) {
          const std::lock_guard lock(mutex_);
          idle_.push_back(std::move(queue));
          return count;
        }
      }
      if (meter_ != nullptr) {
        meter_->add_condition("io_uring gave no queue to some reads: they are by pread");
      }
      return pread_file(file, data, bytes, offset);
    };
    read_by(read, key, out, range);
  }

  void expect(std::span<const ObjectRange> reads) const override {
    if (refused_ || files_in_flight_ == 0) return;
    std::call_once(begun_, [this] { files_ = UringFiles::open(files_in_flight_); });
    if (!files_) return;
    for (const ObjectRange& read : reads) {
      // A longer one would not be one request.
      if (read.range.length <= kMostAtOnce) expected_.add(read, read.range.length);
    }
  }

  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return std::make_unique<ForgettingWriter>(FileObjects::create(key),
                                              [this, key] { expected_.forget(key); });
  }
  void remove(const std::string& key) override {
    FileObjects::remove(key);
    expected_.forget(key);
  }

 private:
  using Expected = ExpectedReads<UringFiles::Handle>;
  static constexpr uint64_t kMostAtOnce = uint64_t{1} << 30;

  // Null: the kernel gives no more of them.
  std::unique_ptr<Uring> take_queue() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Uring> queue = std::move(idle_.back());
        idle_.pop_back();
        return queue;
      }
    }
    std::string why;
    return Uring::open(why, shape_);
  }

  TierMeter* meter_;
  const UringShape shape_;
  const unsigned files_in_flight_;
  bool refused_ = false;
  mutable std::once_flag begun_;
  mutable std::unique_ptr<UringFiles> files_;  // null: none are begun
  mutable Expected expected_;
  mutable std::mutex mutex_;
  // Threads borrow one for each read: there are as many as reads were ever under way at once.
  mutable std::vector<std::unique_ptr<Uring>> idle_;
};

STOKER_REGISTER(Storage, "uring", UringStorage);

}  // namespace
}  // namespace stoker
