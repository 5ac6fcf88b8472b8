#include <cstring>

#include "io/loader/lmdbio/mapped_walk.h"
#include "io/loader/lmdbio/record_reader.h"
#include "io/loader/lmdbio/record_sizes.h"

namespace stoker {
namespace {

// Caffe's data layer: every rank maps the database, walks over all of it, and copies what is its
// own.
class WalkingReader final : public RecordReader {
 public:
  explicit WalkingReader(const ReaderInputs& inputs) : inputs_(inputs), walk_(inputs) {}

  std::span<const Bytes> read(int64_t batch) override {
    const Records own = inputs_.order.of_rank(batch, inputs_.group.rank());
    values_.clear();
    size_t bytes = 0;
    for (int64_t record = own.first; record < own.last; ++record) {
      bytes += inputs_.records.place(inputs_.split, record).length;
    }
    uint8_t* to = copies_.resize(bytes);
    for (int64_t record = own.first; record < own.last; ++record) {
      const Bytes value = walk_.walk_to(record);
      if (!value.empty()) std::memcpy(to, value.data(), value.size());
      values_.emplace_back(to, value.size());
      to += value.size();
    }
    RecordReadCosts costs;
    costs.pages_needed = pages_of(inputs_, own);
    inputs_.meter.add(costs);
    return values_;
  }

 private:
  const ReaderInputs inputs_;
  MappedWalk walk_;
  Buffer copies_;
  std::vector<Bytes> values_;
};

}  // namespace

std::unique_ptr<RecordReader> make_walking_reader(const ReaderInputs& inputs) {
  return std::make_unique<WalkingReader>(inputs);
}

}  // namespace stoker
