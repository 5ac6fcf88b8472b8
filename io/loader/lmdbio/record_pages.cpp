#include "io/loader/lmdbio/record_pages.h"

#include <unistd.h>

#include <algorithm>

namespace stoker {

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

namespace {

PageSpan pages_at(const ReaderInputs& inputs, int64_t record) {
  const Range place = inputs.records.place(inputs.split, record);
  const uint64_t last = place.offset + std::max<uint64_t>(place.length, 1) - 1;
  return {static_cast<int64_t>(place.offset / page_bytes()),
          static_cast<int64_t>(last / page_bytes()) + 1};
}

}  // namespace

size_t most_bytes(const ReaderInputs& inputs, int64_t records) {
  const int64_t all = inputs.dataset.size(inputs.split);
  uint64_t sum = 0, most = 0;
  for (int64_t record = 0; record < all; ++record) {
    sum += inputs.records.place(inputs.split, record).length;
    if (record >= records) sum -= inputs.records.place(inputs.split, record - records).length;
    most = std::max(most, sum);
  }
  return most;
}

int64_t pages_of(const ReaderInputs& inputs, const Records& records) {
  // Neighbours share a page where both lie in a leaf.
  int64_t pages = 0, last = -1;
  for (int64_t record = records.first; record < records.last; ++record) {
    const PageSpan span = pages_at(inputs, record);
    pages += span.count() - (span.first == last ? 1 : 0);
    last = span.last - 1;
  }
  return pages;
}

PageSpan span_of(const ReaderInputs& inputs, const Records& records) {
  PageSpan span = pages_at(inputs, records.first);
  for (int64_t record = records.first + 1; record < records.last; ++record) {
    const PageSpan next = pages_at(inputs, record);
    span.first = std::min(span.first, next.first);
    span.last = std::max(span.last, next.last);
  }
  return span;
}

PageSpan PageGuess::next() const {
  if (!known_ || !last_end_) return {};
  const int64_t first = std::max<int64_t>(*last_end_ + least_stride_, 0);
  return {first, first + (most_stride_ - least_stride_) + most_pages_};
}

void PageGuess::used(const PageSpan& pages) {
  most_pages_ = std::max(most_pages_, pages.count());
  if (last_end_) {
    const int64_t stride = pages.first - *last_end_;
    least_stride_ = known_ ? std::min(least_stride_, stride) : stride;
    most_stride_ = known_ ? std::max(most_stride_, stride) : stride;
    known_ = true;
  }
  last_end_ = pages.last;
}

RecordReadCosts missed_and_extra(const PageSpan& guessed, const PageSpan& used) {
  RecordReadCosts costs;
  if (guessed.count() <= 0) {
    costs.pages_missed_right = used.count();
    return costs;
  }
  const auto length = [](int64_t first, int64_t last) {
    return std::max<int64_t>(last - first, 0);
  };
  costs.pages_missed_left = length(used.first, std::min(guessed.first, used.last));
  costs.pages_missed_right = length(std::max(guessed.last, used.first), used.last);
  costs.pages_extra_left = length(guessed.first, std::min(used.first, guessed.last));
  costs.pages_extra_right = length(std::max(used.last, guessed.first), guessed.last);
  return costs;
}

}  // namespace stoker
