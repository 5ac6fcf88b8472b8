#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "io/core/system/memory.h"
#include "io/jpeg/huffman.h"

namespace stoker {

// One look-up for a whole piece of a block: up to three symbols with their values, and the block's
// end behind them. Bits of an entry:
//   0-5     how many bits of the scan all of it takes, at most kMaxBits
//   6       these are the first bits of a long code; the rest is to be looked up in `far`
//   7       the block ends with it
//   8-15    how many positions of the block it takes, in the scan's order
//   16-31   the value of the first position
//   32-47   and of the second one
//   48-63   and of the last one, less all these bits as a number (modulo 2^16)
// The positions between are 0. So the two values are stored where the piece begins, and the last
// one, over them, where it ends; what lies behind the end is written before anything that belongs
// there. A block's end alone takes one position, of value 0. As the bits are added to it, the last
// value may reach beyond the index, if only its sign does not.
//
// The first bits of a long code take one position, of value 0. An entry of `far` takes one position
// less than its symbol. If the symbol is the next value or the block's end, it therefore takes 0,
// and the last value is stored in front of where the piece begins.
//
// A slow entry is kSlow, as no block has that many positions. It says nothing about the symbol.
struct BlockTables {
  // Bits of the index, which are the next ones of the scan.
  static constexpr int kBits = 11;
  static constexpr int kMaxBits = 18;
  static constexpr uint64_t kFar = 0x40;
  static constexpr uint64_t kEnd = 0x80;
  static constexpr uint64_t kSlow = 0x80 << 8;
  using Entries = std::array<uint64_t, 1 << kBits>;

  static uint64_t bits(uint64_t entry) { return entry & 63; }
  static uint64_t positions(uint64_t entry) { return static_cast<uint8_t>(entry >> 8); }
  // Builds the tables, unless the definitions are those of the last two calls. Those that are new
  // get entries of two symbols, which are soon made; if they come again, of as many as an entry
  // holds. dc_definition may be empty: `dc` must not be used then. False: not a prefix code that
  // libjpeg would accept (HuffmanCode); the tables must not be used then. Needs AVX2.
  bool assign(Bytes dc_definition, Bytes ac_definition);
  // Builds `skip`, unless it is there since the last assign().
  void make_skip();

  // The first symbol is a difference of DC coefficients.
  alignas(64) Entries dc;
  alignas(64) Entries ac;
  // As ac, but never more than one symbol: for the end of a block.
  alignas(64) Entries one;
  // By what follows the first far_bits bits, all ones, of codes that are long.
  alignas(64) Entries far;
  int far_bits = 0;
  // For blocks whose difference alone is wanted, if make_skip() was called. Entries are like those
  // of ac, but have no values, and they take as many symbols as the index has codes of, in at most
  // kMaxSkipped bits. Slow ones know nothing about the code.
  static constexpr int kMaxSkipped = 18;
  alignas(64) Entries skip;
  // For the symbols that no entry covers.
  HuffmanCode dc_code;
  HuffmanCode ac_code;

 private:
  bool assign_dc_code(Bytes definition);
  void make_far();

  bool complete_ = false;
  bool has_skip_ = false;
  std::vector<uint8_t> dc_definition_;
  std::vector<uint8_t> ac_definition_;
};

}  // namespace stoker
