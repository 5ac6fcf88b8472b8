#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/core/system/memory.h"
#include "io/jpeg/bit_reader.h"
#include "io/jpeg/huffman.h"
#include "io/jpeg/jpeg_frame.h"

// What the scans of a progressive file say of themselves (T.81, annex G).

namespace stoker {

// The header of one scan. A value.
struct ProgressiveScan {
  // Its components, by their place in the frame, ascending; the first `count` of each array count.
  size_t count = 0;
  std::array<size_t, 3> component{};
  std::array<size_t, 3> dc_table{};
  std::array<size_t, 3> ac_table{};
  // The coefficients of each block, first to last, in the scan's order.
  int first = 0;
  int last = 0;
  // Their bits from `high` - 1 down to `low`; high 0: all bits from the highest down to `low`.
  int high = 0;
  int low = 0;

  bool of_dc() const { return first == 0; }
  bool refines() const { return high != 0; }

  // `payload`: the SOS segment's. False: not a scan that libjpeg would decode in this file without
  // a warning, or an unusual one; the contents are unspecified then.
  bool assign(const JpegFrame& frame, Bytes payload);
};

// Which bits of which coefficients are known. One thread at a time.
class Progression {
 public:
  Progression() {
    for (auto& component : low_) component.fill(kUnknown);
  }
  // False: the scan does not go on from where those before it have stopped.
  bool take(const ProgressiveScan& scan);
  // Every bit is known. (If one is not, libjpeg smooths blocks.)
  bool complete(size_t components) const;

 private:
  static constexpr int8_t kUnknown = -1;
  // Per component and position: the lowest bit that is known.
  std::array<std::array<int8_t, 64>, 3> low_;
};

// What the codes of a progressive scan stand for (T.81, G.1.2).
enum class SymbolKind {
  difference,  // of DC coefficients
  refinement,  // AC coefficients: runs of zeros and values of one bit, or of blocks that end
};

// One look-up for a symbol: how long it is with its further bits, and what to make of these. An
// entry of 0 says nothing. The bits of any other:
//   0-5     bits of code and further bits together
//   6       the block ends here, and a run of such blocks begins
//   7       there is a value
//   8-12    of the code
//   16-19 number of further bits, for a value or for a run of blocks 20-23 zeros before the value
// One thread at a time while it is assigned, any thread afterwards.
class SymbolTable {
 public:
  static constexpr int kBits = 11;
  static constexpr uint32_t kEnd = 0x40;

  static uint32_t total(uint32_t entry) { return entry & 63; }
  static uint32_t present(uint32_t entry) { return entry >> 7 & 1; }
  static uint32_t code(uint32_t entry) { return entry >> 8 & 31; }
  static uint32_t more(uint32_t entry) { return entry >> 16 & 15; }
  static uint32_t run(uint32_t entry) { return entry >> 20; }

  // `low`: the lowest bit of the scan; with it each value has to fit into 16 bits. False: not a
  // prefix code that libjpeg would accept; the table must not be used then.
  bool assign(Bytes definition, SymbolKind kind, int low);
  // The entry for the next 16 bits. 0: no code begins them, or no encoder would write what the code
  // stands for.
  STOKER_AVX2_INLINE uint32_t next(const BitReader& bits) const {
    const uint32_t entry = entries_[bits.peek(kBits)];
    if (entry != 0) [[likely]]
      return entry;
    return find(static_cast<uint32_t>(bits.peek(16)));
  }
  // How many blocks end together with an entry that ends blocks. `bits` begin with the entry's
  // code, and all its further bits are there.
  STOKER_AVX2_INLINE static uint32_t blocks(uint32_t entry, const BitReader& bits) {
    const uint64_t behind = bits.peek_all() << code(entry);
    return (1u << more(entry)) + static_cast<uint32_t>(behind >> 1 >> (63 - more(entry)));
  }

 private:
  uint32_t find(uint32_t next) const;
  uint32_t entry(int bits, uint8_t symbol) const;

  alignas(64) std::array<uint32_t, 1 << kBits> entries_;
  HuffmanCode code_;
  SymbolKind kind_ = SymbolKind::difference;
  int low_ = 0;
};

}  // namespace stoker
