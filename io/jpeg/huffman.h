#pragma once

#include <array>
#include <cstdint>

#include "io/core/system/memory.h"

// Huffman codes of JPEG files (T.81, annexes C and F), as they are, without look-up tables:
// block_tables.h makes those of them.

namespace stoker {

// What stands at the beginning of some bits. A value.
struct HuffmanSymbol {
  // How many bits the code has. 0: the bits begin with no code.
  uint8_t bits = 0;
  // What the code stands for: a size, or a run and a size.
  uint8_t symbol = 0;
};

// One table of a file. One thread at a time while it is assigned, any thread afterwards. Owns its
// symbols; the definition may go.
class HuffmanCode {
 public:
  // `definition`: 16 counts of the codes of each length, then the symbols (T.81, B.2.4.2), as many
  // as the counts say and at most 256: the caller has checked that. False: not a prefix code that
  // libjpeg would accept; find() and for_each() must not be called then.
  bool assign(Bytes definition);
  // The symbol with whose code the next bits begin; `next` is 16 of them. Takes the same time for
  // every code.
  HuffmanSymbol find(uint32_t next) const;
  // The least number that 16 bits form if they begin with no code of `bits` bits or fewer.
  uint32_t behind(size_t bits) const { return limit_[bits]; }
  // Calls use(bits, code, symbol) for every code, in ascending order of what a scan begins with.
  template <class Use>
  void for_each(const Use& use) const {
    for (size_t bits = 1; bits <= 16; ++bits) {
      const size_t rest = 16 - bits;
      for (uint32_t code = limit_[bits - 1] >> rest; code < limit_[bits] >> rest; ++code) {
        use(static_cast<int>(bits), code, symbol(bits, code));
      }
    }
  }

 private:
  uint8_t symbol(size_t bits, uint32_t code) const {
    return symbols_[static_cast<size_t>(static_cast<int32_t>(code) + offset_[bits])];
  }

  // By length: first value of 16 bits behind its codes.
  std::array<uint32_t, 17> limit_{};
  // By length: index of the first symbol less its code.
  std::array<int32_t, 17> offset_{};
  std::array<uint8_t, 256> symbols_{};
};

// T.81, F.2.2.1: the value that `size` bits stand for, from -(2^size - 1) to 2^size - 1; 0 for
// none.
constexpr int extend(uint32_t bits, int size) {
  const bool negative = size > 0 && bits >> (size - 1) == 0;
  return static_cast<int>(bits) - (negative ? (1 << size) - 1 : 0);
}

// Bits of the largest values.
constexpr uint32_t kMaxDcSize = 11;  // of 8-bit samples (T.81, tables F.1 and F.2)
constexpr uint32_t kMaxAcSize = 10;

}  // namespace stoker
