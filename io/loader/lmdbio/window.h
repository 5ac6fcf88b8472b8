#pragma once

#include <cstdint>
#include <span>

#include "io/core/system/memory.h"

namespace stoker {

// The records of a node's stretch, in memory that its ranks share: its reader writes, and all read
// what it wrote before the last meeting. Refers to that memory; a value.
class Window {
 public:
  // Where a record lies in bytes(). Offsets are relative, for the ranks have it at other addresses.
  struct Place {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  // The memory that `records` records with `bytes` bytes take.
  static size_t memory(int64_t records, size_t bytes);
  Window(std::span<uint8_t> memory, int64_t records);

  std::span<uint8_t> bytes() const { return bytes_; }
  std::span<Place> places() const { return places_; }
  // The record at a place, which lies inside whatever another process has written there.
  Bytes record(int64_t place) const;

 private:
  std::span<Place> places_;
  std::span<uint8_t> bytes_;
};

}  // namespace stoker
