#include "io/loader/lmdbio/record_reader.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "io/core/error.h"

namespace stoker {
namespace {

// All readers with a window: what its filler puts there, the ranks of the node take.
class NodeReader final : public RecordReader {
 public:
  using MakeFiller = std::unique_ptr<WindowFiller> (*)(const ReaderInputs&);
  NodeReader(const ReaderInputs& inputs, MakeFiller make)
      : inputs_(inputs),
        filler_(inputs.group.reads() ? make(inputs_) : nullptr),
        records_(inputs.order.most_of_stretch()),
        memory_(inputs.group.share_with_node(Window::memory(records_, agreed_bytes()))),
        window_(memory_, records_) {}

  std::span<const Bytes> read(int64_t batch) override {
    const GroupOrder& order = inputs_.order;
    const int64_t node = inputs_.group.node();
    // An epoch that is read at once begins again, too.
    const bool filled = batch > last_ && order.together_from(batch) == filled_from_;
    if (!filled) fill(batch);
    last_ = batch;
    const Records own = order.of_rank(batch, inputs_.group.rank());
    const int64_t first = own.first - order.node_stretch(batch, node).first;
    values_.clear();
    for (int64_t i = 0; i < own.count(); ++i) values_.push_back(window_.record(first + i));
    return values_;
  }

 private:
  // The largest that a reader needs: memory is shared by equal sizes.
  size_t agreed_bytes() {
    const size_t own = filler_ ? filler_->window_bytes(records_) : 0;
    size_t most = 0;
    for (const std::string& bytes : inputs_.group.meet(std::to_string(own))) {
      most = std::max<size_t>(most, std::stoull(bytes));
    }
    return most;
  }
  void meet() {
    const Waiting waiting(inputs_.meter);
    inputs_.group.meet_node();
  }
  void fill(int64_t batch) {
    meet();  // nobody reads in it any more
    filled_from_ = inputs_.order.together_from(batch);
    if (filler_) filler_->fill(batch, window_);
    meet();
  }

  const ReaderInputs inputs_;
  const std::unique_ptr<WindowFiller> filler_;
  const int64_t records_;
  const std::span<uint8_t> memory_;
  Window window_;
  int64_t filled_from_ = -1;
  int64_t last_ = -1;
  std::vector<Bytes> values_;
};

}  // namespace

std::unique_ptr<RecordReader> make_record_reader(const ReaderInputs& inputs) {
  switch (inputs.options.reader) {
    case LmdbReader::lmdb:
      return make_walking_reader(inputs);
    case LmdbReader::lmm:
      return std::make_unique<NodeReader>(inputs, make_cursor_filler);
    case LmdbReader::lmm_dm:
      return std::make_unique<NodeReader>(inputs, make_ring_filler);
    case LmdbReader::lmm_dio:
    case LmdbReader::prov:
    case LmdbReader::coal:
    case LmdbReader::stag:
      break;
    case LmdbReader::indexed:
      return make_indexed_reader(inputs);
  }
  return std::make_unique<NodeReader>(inputs, make_range_filler);
}

namespace {

constexpr uint64_t kPage = 4096;  // values begin on one, for those who read by blocks

uint64_t places_bytes(int64_t records) {
  return rounded_up(static_cast<uint64_t>(records) * sizeof(Window::Place), kPage);
}

}  // namespace

size_t Window::memory(int64_t records, size_t bytes) {
  const uint64_t places = places_bytes(records);
  if (bytes > std::numeric_limits<size_t>::max() / 2 - places) throw std::bad_alloc();
  return places + bytes;
}

Window::Window(std::span<uint8_t> memory, int64_t records)
    : places_(reinterpret_cast<Place*>(memory.data()), static_cast<size_t>(records)),
      bytes_(memory.subspan(places_bytes(records))) {}

Bytes Window::record(int64_t place) const {
  // A copy: another process may write there.
  const Place at = place >= 0 && place < std::ssize(places_) ? places_[static_cast<size_t>(place)]
                                                             : Place{UINT64_MAX, 0};
  if (at.offset > bytes_.size() || at.bytes > bytes_.size() - at.offset) {
    throw Error(ExitCode::device, "loader: a window says that a record lies outside of it");
  }
  return bytes_.subspan(at.offset, at.bytes);
}

}  // namespace stoker
