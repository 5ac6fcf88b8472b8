#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/loader/lmdbio/record_reader.h"
#include "io/metrics/record_read_meter.h"

namespace stoker {

// Pages of this machine that lie one behind the other in a file: [first, last). A value.
struct PageSpan {
  int64_t first = 0;
  int64_t last = 0;
  int64_t count() const { return last - first; }
  bool operator==(const PageSpan&) const = default;
};

// The bytes of a page of this machine.
uint64_t page_bytes();
// The most bytes of `records` records that lie one behind the other.
size_t most_bytes(const ReaderInputs& inputs, int64_t records);
// On how many pages the values of these records lie, each page once.
int64_t pages_of(const ReaderInputs& inputs, const Records& records);
// From the first to the last of these pages, with what lies between; records has one at least.
PageSpan span_of(const ReaderInputs& inputs, const Records& records);

// Where the next pages of a reader will lie, of many that go through a database in turn: LMDBIO's
// guess in its later form (pmodels/lmdbio, branches icpads-*; ICPADS 2017, section IV). It
// remembers the most pages that a fetch had, and the least and the most stride, which is the gap
// from the end of one fetch to the begin of the next. The guess is
//   [last end + least stride, and on by the most stride - the least + the most pages)
// so no guess can be made before two fetches. A value.
class PageGuess {
 public:
  // Empty: no guess can be made.
  PageSpan next() const;
  // What was used then.
  void used(const PageSpan& pages);
  // Says that the database begins anew, so that nothing follows from where the last fetch ended.
  void start_again() { last_end_.reset(); }

 private:
  std::optional<int64_t> last_end_;
  bool known_ = false;  // the strides
  int64_t least_stride_ = 0;
  int64_t most_stride_ = 0;
  int64_t most_pages_ = 0;
};

// RecordReadCosts::pages_missed_... and pages_extra_...: which of the used pages were not guessed,
// and the other way round. Without a guess all are missed, on the right.
RecordReadCosts missed_and_extra(const PageSpan& guessed, const PageSpan& used);

}  // namespace stoker
