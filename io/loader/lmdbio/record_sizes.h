#pragma once

#include <cstddef>
#include <cstdint>

#include "io/loader/lmdbio/record_reader.h"

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

}  // namespace stoker
