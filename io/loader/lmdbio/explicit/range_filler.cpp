#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/loader/lmdbio/explicit/range_plan.h"
#include "io/loader/lmdbio/explicit/record_places.h"
#include "io/loader/lmdbio/record_reader.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {
namespace {

// Reads ranges of an object of a tier into memory that the caller has. If the tier keeps files,
// pread reads them straight there, through the tier's layers. Other tiers read with their own
// read() into a Buffer, and the bytes are copied. So do tiers that read past the page cache,
// because addresses and offsets must then lie on blocks. One thread. IoError as the tier's.
class ObjectRanges {
 public:
  ObjectRanges(const Storage& tier, std::string key);
  // All of `out`. Error(ExitCode::data) where the object has become shorter.
  void read(uint64_t offset, std::span<uint8_t> out);

 private:
  [[noreturn]] void cut(uint64_t offset, uint64_t bytes) const;

  const Storage& tier_;
  const std::string key_;
  std::optional<TreeFile> file_;
  Buffer buffer_;
};

ObjectRanges::ObjectRanges(const Storage& tier, std::string key)
    : tier_(tier), key_(std::move(key)) {
  check_key(key_);
  const FileTree* const files = files_of(tier);
  if (files == nullptr || files->access() == FileAccess::direct) return;
  file_.emplace(files->open(key_, FileAccess::buffered));
}

void ObjectRanges::read(uint64_t offset, std::span<uint8_t> out) {
  if (out.empty()) return;
  try {
    if (file_) return file_->read_at(offset, out);
    tier_.read(key_, buffer_, {offset, out.size()});
  } catch (const IoError& error) {
    // No system call failed: the file ends before.
    if (file_ && error.errno_value() == 0) cut(offset, out.size());
    throw;
  }
  if (buffer_.size() != out.size()) cut(offset, out.size());
  std::memcpy(out.data(), buffer_.data(), out.size());
}

void ObjectRanges::cut(uint64_t offset, uint64_t bytes) const {
  throw Error(ExitCode::data,
              fmt::format("loader: {} was cut while it was read: bytes {} to {} are missing, which "
                          "were there when the data set was opened: write it anew, while nobody "
                          "reads it",
                          key_, offset, offset + bytes));
}

// Who may read: `stagger` nodes at once. Each waits until the node that is `stagger` places before
// it is done, and tells the one that is as many places behind it. One thread.
class Turns {
 public:
  Turns(Group& group, int64_t stagger) : group_(group), stagger_(stagger) {}

  // Waits until it is this node's turn.
  void wait(int64_t batch) const {
    const int64_t before = group_.node() - stagger_;
    if (stagger_ == 0 || before < 0) return;
    int64_t said = -1;
    const std::vector<uint8_t> message = group_.receive(before);
    if (message.size() == sizeof said) std::memcpy(&said, message.data(), sizeof said);
    if (said != batch) {
      throw Error(ExitCode::device,
                  fmt::format("loader: node {} reads batch {}, and node {} batch {}", before, said,
                              group_.node(), batch));
    }
  }
  void pass_on(int64_t batch) const {
    const int64_t behind = group_.node() + stagger_;
    if (stagger_ == 0 || behind >= group_.nodes()) return;
    std::array<uint8_t, sizeof batch> message{};
    std::memcpy(message.data(), &batch, sizeof batch);
    group_.send(behind, message);
  }

 private:
  Group& group_;
  const int64_t stagger_;  // 0: all at once
};

// lmm_dio, prov, coal and stag: explicit reads of ranges, straight into the window.
class RangeFiller final : public WindowFiller {
 public:
  explicit RangeFiller(const ReaderInputs& inputs)
      : inputs_(inputs),
        reads_(inputs.records.tier(), inputs.object),
        turns_(inputs.group,
               inputs.options.reader == LmdbReader::stag ? inputs.options.stagger : 0) {
    if (inputs_.options.reader != LmdbReader::lmm_dio) places_ = replay_places(inputs_);
    if (!places_) places_ = walk_places(inputs_);
    for_stretches(inputs_.order, inputs_.group.node(), [&](Records stretch) {
      window_bytes_ = std::max(window_bytes_, plan_ranges(places_->of(stretch)).bytes);
    });
  }

  size_t window_bytes(int64_t /*records*/) const override { return window_bytes_; }

  void fill(int64_t batch, Window& window) override {
    const Records stretch = inputs_.order.node_stretch(batch, inputs_.group.node());
    const std::vector<RecordPlace> places = places_->of(stretch);
    const RangePlan plan = plan_ranges(places);
    if (plan.bytes > window.bytes().size() || places.size() > window.places().size()) {
      throw std::logic_error("a window is too small for its stretch");
    }
    {
      const Waiting waiting(inputs_.meter);
      turns_.wait(batch);
    }
    RecordReadCosts costs;
    for (const RangePlan::Read& read : plan.reads) {
      reads_.read(read.range.offset, window.bytes().subspan(read.to, read.range.length));
      costs.bytes += static_cast<int64_t>(read.range.length);
    }
    turns_.pass_on(batch);
    {
      // As the authors' code: nobody has the records before all have read.
      const Waiting waiting(inputs_.meter);
      inputs_.group.meet_readers();
    }
    for (size_t i = 0; i < places.size(); ++i) {
      const Window::Place& to = plan.places[i];
      const uint64_t lead = places[i].lead;
      places_->check(stretch.first + static_cast<int64_t>(i),
                     window.bytes().subspan(to.offset - lead, lead + to.bytes));
      window.places()[i] = to;
    }
    costs.requests = std::ssize(plan.reads);
    costs.pages_needed = plan.pages_needed;
    costs.pages_fetched = plan.pages_fetched;
    inputs_.meter.add(costs);
  }

 private:
  const ReaderInputs inputs_;
  ObjectRanges reads_;
  const Turns turns_;
  std::unique_ptr<RecordPlaces> places_;
  size_t window_bytes_ = 0;
};

}  // namespace

std::unique_ptr<WindowFiller> make_range_filler(const ReaderInputs& inputs) {
  return std::make_unique<RangeFiller>(inputs);
}

}  // namespace stoker
