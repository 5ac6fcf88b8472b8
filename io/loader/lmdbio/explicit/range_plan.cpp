#include "io/loader/lmdbio/explicit/range_plan.h"

#include <algorithm>
#include <numeric>

#include "io/storage/file_reads.h"

namespace stoker {
namespace {

constexpr uint64_t kMostBallast = 4;  // read : needed

uint64_t begin_of(const RecordPlace& record) { return record.value.offset - record.lead; }
uint64_t end_of(const RecordPlace& record) { return record.value.offset + record.value.length; }

// Pages on which bytes of ranges lie that come in the order of their offsets; each counts once.
class PageCount {
 public:
  void add(uint64_t begin, uint64_t end) {
    if (begin == end) return;
    const uint64_t first = std::max(begin / kPage, next_);
    const uint64_t behind = (end - 1) / kPage + 1;
    if (behind <= first) return;
    count_ += static_cast<int64_t>(behind - first);
    next_ = behind;
  }
  int64_t count() const { return count_; }

 private:
  const uint64_t kPage = page_size();
  uint64_t next_ = 0;
  int64_t count_ = 0;
};

// Records of a read: from place `first` to `last` of the order.
struct Gathered {
  size_t first = 0;
  size_t last = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t needed = 0;
};

std::vector<Gathered> gathered(std::span<const RecordPlace> records,
                               std::span<const size_t> order) {
  std::vector<Gathered> reads;
  for (size_t i = 0; i < order.size(); ++i) {
    const RecordPlace& record = records[order[i]];
    const uint64_t needed = record.lead + record.value.length;
    if (!reads.empty()) {
      Gathered& open = reads.back();
      const uint64_t end = std::max(open.end, end_of(record));
      if ((end - open.begin) / kMostBallast <= open.needed + needed) {
        open.last = i + 1;
        open.end = end;
        open.needed += needed;
        continue;
      }
    }
    reads.push_back({i, i + 1, begin_of(record), end_of(record), needed});
  }
  return reads;
}

}  // namespace

RangePlan plan_ranges(std::span<const RecordPlace> records) {
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return begin_of(records[i]); });
  RangePlan plan;
  plan.places.resize(records.size());
  PageCount needed, fetched;
  for (const Gathered& read : gathered(records, order)) {
    for (size_t i = read.first; i < read.last; ++i) {
      const Range& value = records[order[i]].value;
      plan.places[order[i]] = {plan.bytes + value.offset - read.begin, value.length};
      needed.add(value.offset, value.offset + value.length);
    }
    const Range range{read.begin, read.end - read.begin};
    if (range.length == 0) continue;
    plan.reads.push_back({range, plan.bytes});
    fetched.add(read.begin, read.end);
    plan.bytes += range.length;
  }
  plan.pages_needed = needed.count();
  plan.pages_fetched = fetched.count();
  return plan;
}

}  // namespace stoker
