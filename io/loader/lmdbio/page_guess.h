#pragma once

#include <cstdint>
#include <optional>

#include "io/loader/lmdbio/record_sizes.h"
#include "io/metrics/record_read_meter.h"

namespace stoker {

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
