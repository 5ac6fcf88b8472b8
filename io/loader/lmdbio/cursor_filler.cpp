#include <cstring>

#include "io/loader/lmdbio/mapped_walk.h"
#include "io/loader/lmdbio/record_reader.h"
#include "io/loader/lmdbio/record_sizes.h"
#include "io/loader/lmdbio/waiting.h"

namespace stoker {
namespace {

// LMM: the reader of a node walks over all of the database, and copies what is its node's.
class CursorFiller final : public WindowFiller {
 public:
  explicit CursorFiller(const ReaderInputs& inputs) : inputs_(inputs) {
    {
      const Waiting waiting(inputs_.meter);
      inputs_.group.meet_readers();
    }
    walk_ = std::make_unique<MappedWalk>(inputs_);
  }

  size_t window_bytes(int64_t records) const override { return most_bytes(inputs_, records); }

  void fill(int64_t batch, Window& window) override {
    const Records stretch = inputs_.order.node_stretch(batch, inputs_.group.node());
    uint64_t offset = 0;
    for (int64_t record = stretch.first; record < stretch.last; ++record) {
      const Bytes value = walk_->walk_to(record);
      if (!value.empty()) std::memcpy(&window.bytes()[offset], value.data(), value.size());
      window.places()[static_cast<size_t>(record - stretch.first)] = {offset, value.size()};
      offset += value.size();
    }
    RecordReadCosts costs;
    costs.pages_needed = pages_of(inputs_, stretch);
    inputs_.meter.add(costs);
  }

 private:
  const ReaderInputs inputs_;
  std::unique_ptr<MappedWalk> walk_;
};

}  // namespace

std::unique_ptr<WindowFiller> make_cursor_filler(const ReaderInputs& inputs) {
  return std::make_unique<CursorFiller>(inputs);
}

}  // namespace stoker
