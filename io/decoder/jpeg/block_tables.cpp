#include "io/decoder/jpeg/block_tables.h"

#include <algorithm>
#include <optional>

namespace stoker {
namespace {

constexpr int kBits = BlockTables::kBits;
using Entries = BlockTables::Entries;

// The sizes of values that an entry can hold.
constexpr int kMaxFirst = 7, kMaxSecond = 4;

// What a code stands for.
struct Symbol {
  int code_bits;
  int size;  // bits of the value
  int run;   // zeros before it; -1: a difference, which has position 0
  bool end;  // of the block
  int bits() const { return code_bits + size; }
};

// None: not one that an encoder makes.
std::optional<Symbol> dc_symbol(int bits, int symbol) {
  if (symbol > static_cast<int>(kMaxDcSize)) return std::nullopt;
  return Symbol{bits, symbol, -1, false};
}

std::optional<Symbol> ac_symbol(int bits, int symbol) {
  const int size = symbol & 15, run = symbol >> 4;
  if (size > static_cast<int>(kMaxAcSize)) return std::nullopt;
  if (size == 0 && run != 0 && run != 15) return std::nullopt;
  return Symbol{bits, size, run, symbol == 0};
}

uint32_t pack(int bits, bool end, int value, int advance, int second_advance, int second_value) {
  return static_cast<uint32_t>(bits) | (end ? BlockTables::kEnd : 0) |
         static_cast<uint32_t>(static_cast<uint8_t>(value)) << 8 |
         static_cast<uint32_t>(advance) << 16 | static_cast<uint32_t>(second_advance) << 21 |
         static_cast<uint32_t>(second_value) << 27;
}

int bits_of(uint32_t entry) { return static_cast<int>(entry & 63); }

// Behind the last value, which a look-up must not overwrite.
constexpr uint32_t kNothingKnown = 1u << 16 | BlockTables::kSlow << 21;
uint32_t slow_entry(const Symbol& symbol) {
  const int known = symbol.code_bits | symbol.size << 4;
  return pack(0, false, known, symbol.run + 1, static_cast<int>(BlockTables::kSlow), 0);
}

// What the next bits begin with, if so many of them are known: a table of 1 << known for each
// number from 0 to kBits. 0: nothing.
class ByKnownBits {
 public:
  uint32_t* operator[](int known) { return entries_.data() + (size_t{1} << known); }
  const uint32_t* operator[](int known) const { return entries_.data() + (size_t{1} << known); }

 private:
  std::array<uint32_t, 2 << kBits> entries_{};
};

// Calls make(value) for each value of the symbol, the smallest one's bits first, and puts its
// 1 << left entries at `at`.
template <class Make>
void fill_values(const Symbol& symbol, int left, uint32_t* at, const Make& make) {
  for (uint32_t bits = 0; bits < 1u << symbol.size; ++bits, at += size_t{1} << left) {
    make(extend(bits, symbol.size), at);
  }
}

// The parts of an entry that tell of its second symbol.
void find_second(const HuffmanCode& code, ByKnownBits& second) {
  code.for_each([&](int bits, uint32_t prefix, int byte) {
    const auto symbol = ac_symbol(bits, byte);
    if (!symbol || symbol->bits() > kBits || symbol->size > kMaxSecond) return;
    const int left = kBits - symbol->bits();
    fill_values(*symbol, left, second[kBits] + (prefix << (kBits - bits)),
                [&](int value, uint32_t* at) {
                  const int advance = symbol->end ? 0 : symbol->run + 1;
                  std::fill_n(at, size_t{1} << left,
                              pack(symbol->bits(), symbol->end, 0, 0, advance, value));
                });
  });
  for (int known = kBits - 1; known >= 0; --known) {
    const uint32_t* more = second[known + 1];
    uint32_t* out = second[known];
    for (size_t i = 0; i < size_t{1} << known; ++i) {
      out[i] = bits_of(more[2 * i]) <= known ? more[2 * i] : 0;
    }
  }
}

// `read`: dc_symbol or ac_symbol.
template <class Read>
void fill(const HuffmanCode& code, const Read& read, const ByKnownBits& second, Entries& entries) {
  entries.fill(kNothingKnown);
  code.for_each([&](int bits, uint32_t prefix, int byte) {
    const std::optional<Symbol> symbol = read(bits, byte);
    if (!symbol || bits > kBits) return;
    uint32_t* const range = entries.data() + (prefix << (kBits - bits));
    const size_t size = size_t{1} << (kBits - bits);
    if (symbol->bits() > kBits || symbol->size > kMaxFirst) {
      std::fill_n(range, size, slow_entry(*symbol));
    } else if (symbol->end) {
      std::fill_n(range, size, pack(bits, true, 0, 1, 0, 0));
    } else {
      const int left = kBits - symbol->bits();
      const uint32_t* const rest = second[left];
      fill_values(*symbol, left, range, [&](int value, uint32_t* at) {
        const uint32_t first = pack(symbol->bits(), false, value, symbol->run + 1, 0, 0);
        for (size_t i = 0; i < size_t{1} << left; ++i) at[i] = first + rest[i];
      });
    }
  });
}

// As many symbols as there are codes of: bits 0-5 and 7 as in an entry, and from bit 16 how far
// they advance.
void find_chains(const HuffmanCode& code, ByKnownBits& chains) {
  constexpr uint32_t kMaxAdvance = 62;
  for (int known = 1; known <= kBits; ++known) {
    code.for_each([&](int bits, uint32_t prefix, int byte) {
      const auto symbol = ac_symbol(bits, byte);
      if (!symbol || bits > known || symbol->bits() > BlockTables::kMaxSkipped) return;
      const uint32_t advance = symbol->end ? 0 : static_cast<uint32_t>(symbol->run + 1);
      const uint32_t one = static_cast<uint32_t>(symbol->bits()) |
                           (symbol->end ? BlockTables::kEnd : 0) | advance << 16;
      uint32_t* const range = chains[known] + (prefix << (known - bits));
      const int left = known - symbol->bits();
      if (symbol->end || left <= 0) {
        std::fill_n(range, size_t{1} << (known - bits), one);
        return;
      }
      const uint32_t* const rest = chains[left];
      fill_values(*symbol, left, range, [&](int, uint32_t* at) {
        for (size_t i = 0; i < size_t{1} << left; ++i) {
          const uint32_t both = one + rest[i];
          const bool fits = bits_of(both) <= BlockTables::kMaxSkipped && both >> 16 <= kMaxAdvance;
          at[i] = fits ? both : one;
        }
      });
    });
  }
}

void fill_skip(const ByKnownBits& chains, Entries& entries) {
  const uint32_t* const all = chains[kBits];
  for (size_t i = 0; i < entries.size(); ++i) {
    // Never position 0, where the difference is.
    const int behind_first = std::max(static_cast<int>(all[i] >> 16), 1) - 1;
    const bool end = (all[i] & BlockTables::kEnd) != 0;
    entries[i] = all[i] == 0 ? kNothingKnown : pack(bits_of(all[i]), end, 0, 1, behind_first, 0);
  }
}

// True: `kept` is now `definition` and was something else.
bool replace(std::vector<uint8_t>& kept, Bytes definition) {
  if (std::ranges::equal(kept, definition)) return false;
  kept.assign(definition.begin(), definition.end());
  return true;
}

}  // namespace

bool BlockTables::assign(Bytes dc_definition, Bytes ac_definition) {
  const bool other_dc = replace(dc_definition_, dc_definition);
  const bool other_ac = replace(ac_definition_, ac_definition);
  if (!other_dc && !other_ac) return true;
  const Bytes dc_symbols = dc_definition.subspan(16);
  if (!dc_code.assign(dc_definition) || !ac_code.assign(ac_definition) ||
      std::ranges::any_of(dc_symbols, [](int symbol) { return symbol > 15; })) {
    dc_definition_.clear();
    return false;
  }
  ByKnownBits second;
  find_second(ac_code, second);
  fill(dc_code, dc_symbol, second, dc);
  fill(ac_code, ac_symbol, second, ac);
  ByKnownBits chains;
  find_chains(ac_code, chains);
  fill_skip(chains, skip);
  return true;
}

}  // namespace stoker
