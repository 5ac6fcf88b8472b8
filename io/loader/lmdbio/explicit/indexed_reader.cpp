#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/loader/lmdbio/explicit/range_plan.h"
#include "io/loader/lmdbio/explicit/record_places.h"
#include "io/loader/lmdbio/record_reader.h"

namespace stoker {
namespace {

// A larger read gains nothing, and can't be in flight beside others.
constexpr uint64_t kMostRead = uint64_t{4} << 20;
// Batches that the tier is told of before they are asked for.
constexpr int64_t kBatchesAhead = 2;

// Each rank for itself: by the places that were verified when the data set was opened, neighbours
// by one read, and the tier is told of the next batches, so that those that can have many reads in
// flight do.
class IndexedReader final : public RecordReader {
 public:
  explicit IndexedReader(const ReaderInputs& inputs) : inputs_(inputs) {}

  std::span<const Bytes> read(int64_t batch) override {
    tell(batch);
    const std::vector<RecordPlace> places = places_of(batch);
    values_.clear();
    RecordReadCosts costs;
    size_t buffer = 0;
    for (const auto& records : pieces(places)) {
      const RangePlan plan = plan_ranges(records);
      buffers_.resize(std::max(buffers_.size(), buffer + plan.reads.size()));
      for (const RangePlan::Read& read : plan.reads) read_into(buffers_[buffer++], read.range);
      take_values(plan, std::span(buffers_).subspan(buffer - plan.reads.size()));
      costs.requests += std::ssize(plan.reads);
      costs.bytes += static_cast<int64_t>(plan.bytes);
      costs.pages_needed += plan.pages_needed;
      costs.pages_fetched += plan.pages_fetched;
    }
    inputs_.meter.add(costs);
    return values_;
  }

 private:
  std::vector<RecordPlace> places_of(int64_t batch) const {
    const Records own = inputs_.order.of_rank(batch, inputs_.group.rank());
    std::vector<RecordPlace> places;
    for (int64_t record = own.first; record < own.last; ++record) {
      places.push_back({inputs_.records.place(inputs_.split, record)});
    }
    return places;
  }

  // Cut into reads of kMostRead and a record.
  static std::vector<std::span<const RecordPlace>> pieces(std::span<const RecordPlace> places) {
    std::vector<std::span<const RecordPlace>> result;
    while (!places.empty()) {
      size_t count = 0;
      for (uint64_t bytes = 0; count < places.size() && bytes < kMostRead; ++count) {
        bytes += places[count].value.length;
      }
      result.push_back(places.first(count));
      places = places.subspan(count);
    }
    return result;
  }

  // Hints must name just what is read later.
  void tell(int64_t batch) {
    if (batch != next_) told_ = batch;
    next_ = batch + 1;
    const int64_t to = std::min(batch + 1 + kBatchesAhead, inputs_.order.batches());
    std::vector<ObjectRange> hints;
    for (; told_ < to; ++told_) {
      const std::vector<RecordPlace> places = places_of(told_);
      for (const auto& records : pieces(places)) {
        for (const RangePlan::Read& read : plan_ranges(records).reads) {
          hints.push_back({inputs_.object, read.range});
        }
      }
    }
    if (!hints.empty()) inputs_.records.tier().expect(hints);
  }

  void read_into(Buffer& out, Range range) const {
    inputs_.records.tier().read(inputs_.object, out, range);
    if (out.size() == range.length) return;
    database_changed(inputs_, fmt::format("it was cut: bytes {} to {} are missing", range.offset,
                                          range.offset + range.length));
  }

  // Takes the values of reads that lie one behind the other in the plan.
  void take_values(const RangePlan& plan, std::span<const Buffer> buffers) {
    for (const Window::Place& place : plan.places) {
      const auto behind =
          std::ranges::upper_bound(plan.reads, place.offset, {}, &RangePlan::Read::to);
      if (place.bytes == 0) {
        values_.emplace_back();
        continue;
      }
      const auto read = static_cast<size_t>(std::prev(behind) - plan.reads.begin());
      values_.push_back(
          buffers[read].bytes().subspan(place.offset - plan.reads[read].to, place.bytes));
    }
  }

  const ReaderInputs inputs_;
  std::vector<Buffer> buffers_;
  std::vector<Bytes> values_;
  int64_t next_ = 0;  // if it goes on as it has begun
  int64_t told_ = 0;  // the first batch that the tier has not been told of
};

}  // namespace

std::unique_ptr<RecordReader> make_indexed_reader(const ReaderInputs& inputs) {
  return std::make_unique<IndexedReader>(inputs);
}

}  // namespace stoker
