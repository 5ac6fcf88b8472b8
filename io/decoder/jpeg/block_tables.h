#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "io/core/memory.h"
#include "io/decoder/jpeg/huffman.h"

namespace stoker {

// One look-up for a whole piece of a block: up to two symbols with their values, in four bytes, so
// that the tables of an image fit into the first-level cache. Bits of an entry:
//   0-5     how many bits of the scan all of it takes
//   7       the block ends with it
//   8-15    the first value, signed
//   16-20   how far it lies behind the last position
//   21-26   how far the second value lies behind the first; 0: there is none
//   27-31   the second value, signed
// Where the block ends at once, both are 0 and the first is 1 position behind the last. A slow
// entry takes no bits and has kSlow in 21-26. If the code is not longer than the index, but code
// and value are, then 8-11 is the code's and 12-15 the value's number of bits, and 16-20 is right;
// else 8-15 is 0 and 16-20 is 1.
struct BlockTables {
  // Of the index: the next bits of the scan.
  static constexpr int kBits = 11;
  static constexpr uint32_t kEnd = 0x80;
  static constexpr uint32_t kSlow = 63;
  using Entries = std::array<uint32_t, 1 << kBits>;

  // Rotations: with BMI2 they leave the entry where it is.
  static int value(uint32_t entry) { return static_cast<int8_t>(entry >> 8); }
  static uint64_t advance(uint32_t entry) { return std::rotr(entry, 16) & 31; }
  static uint64_t second_advance(uint32_t entry) { return std::rotr(entry, 21) & 63; }
  static bool is_slow(uint32_t entry) { return second_advance(entry) == kSlow; }
  static bool is_known_code(uint32_t entry) { return is_slow(entry) && (entry & 0xff00) != 0; }
  static uint32_t known_code(uint32_t entry) { return entry >> 8 & 15; }
  static uint32_t known_size(uint32_t entry) { return entry >> 12 & 15; }
  static int second_value(uint32_t entry) { return static_cast<int32_t>(entry) >> 27; }

  // Builds the tables, unless the definitions are those of the last call. False: not a prefix code
  // that libjpeg would accept (HuffmanCode); the tables must not be used then.
  bool assign(Bytes dc_definition, Bytes ac_definition);

  // The first symbol is a difference of DC coefficients, at position 0.
  alignas(64) Entries dc;
  alignas(64) Entries ac;
  // For blocks of which only the difference is wanted: entries like those of ac, but without
  // values, and of as many symbols as the index has codes of, in at most kMaxSkipped bits. Slow
  // ones know nothing of the code.
  static constexpr int kMaxSkipped = 18;
  alignas(64) Entries skip;
  // For the symbols that no entry covers.
  HuffmanCode dc_code;
  HuffmanCode ac_code;

 private:
  std::vector<uint8_t> dc_definition_;
  std::vector<uint8_t> ac_definition_;
};

}  // namespace stoker
