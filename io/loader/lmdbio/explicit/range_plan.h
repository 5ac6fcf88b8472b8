#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/loader/lmdbio/record_reader.h"
#include "io/storage/storage.h"

namespace stoker {

// Where a record lies in its object, and how much in front of it is read with it, to be looked at.
// A value.
struct RecordPlace {
  Range value;
  uint64_t lead = 0;
  bool operator==(const RecordPlace&) const = default;
};

// By which reads records get into a window. A value.
struct RangePlan {
  struct Read {
    Range range;
    uint64_t to = 0;  // in the window
    bool operator==(const Read&) const = default;
  };
  std::vector<Read> reads;
  std::vector<Window::Place> places;  // of the values, in their order
  uint64_t bytes = 0;                 // of the window
  // Pages (of the machine) that the values are on, and that are read.
  int64_t pages_needed = 0;
  int64_t pages_fetched = 0;
};

// One read from the begin of the first record in the file to the end of the last one, whatever lies
// between them; where that is more than 4 times what is needed, several for which it is not. The
// records are in any order. Offsets and sizes have been checked against the object: their sums do
// not overflow. Pure; any thread.
RangePlan plan_ranges(std::span<const RecordPlace> records);

}  // namespace stoker
