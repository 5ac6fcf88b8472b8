#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/core/system/memory.h"
#include "io/loader/lmdbio/database/append_replay.h"
#include "io/loader/lmdbio/database/lmdb_page.h"

namespace stoker {

// Where the records of a database lie, computed from how it was written (LMDBIO's provenance
// information) instead of read from its tree. Immutable; any thread, if `sizes` is.
class Provenance {
 public:
  // The sizes of record i, by the order of keys. It lives as long as this.
  using Sizes = std::function<LmdbRecordSizes(int64_t)>;
  // Replays the writing of `records` records, in some 50 ns for each.
  Provenance(const LmdbHistory& history, int64_t records, Sizes sizes);

  // Empty: a database of this history has just this meta. Otherwise which assumption does not hold,
  // as a sentence without its end.
  std::string check(const LmdbMeta& meta) const;
  // The places of records [first, last). Replays some thousand of them. Do not call it if check()
  // found something.
  std::vector<LmdbPlace> places(int64_t first, int64_t last) const;

 private:
  int64_t records_;
  Sizes sizes_;
  std::vector<AppendReplay> marks_;  // from which a replay goes on
  LmdbMeta meta_;
  std::string refusal_;
};

// Whether a record of these sizes is at its place, as far as its page says: whose number and kind,
// and for a value in a leaf its entry. from_page: the file from the begin of place.page to the end
// of the value. Any bytes; any thread.
bool is_at_its_place(const LmdbPlace& place, Bytes from_page);

}  // namespace stoker
