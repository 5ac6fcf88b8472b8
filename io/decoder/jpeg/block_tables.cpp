#include "io/decoder/jpeg/block_tables.h"

#include <algorithm>
#include <optional>

namespace stoker {
namespace {

constexpr int kBits = BlockTables::kBits;
using Entries = BlockTables::Entries;

// What a code stands for.
struct Symbol {
  int code_bits;
  int size;       // bits of the value
  int positions;  // of the block: the zeros before the value, and it
  bool end;       // of the block
  int bits() const { return code_bits + size; }
};

// None: not one that an encoder makes.
std::optional<Symbol> dc_symbol(int bits, int symbol) {
  if (symbol > static_cast<int>(kMaxDcSize)) return std::nullopt;
  return Symbol{bits, symbol, 1, false};
}

std::optional<Symbol> ac_symbol(int bits, int symbol) {
  const int size = symbol & 15, run = symbol >> 4;
  if (size > static_cast<int>(kMaxAcSize)) return std::nullopt;
  if (size == 0 && run != 0 && run != 15) return std::nullopt;
  return Symbol{bits, size, run + 1, symbol == 0};
}

int bits_of(uint64_t entry) { return static_cast<int>(BlockTables::bits(entry)); }

uint64_t control(int bits, bool end, int positions) {
  return static_cast<uint64_t>(bits) | (end ? BlockTables::kEnd : 0) |
         static_cast<uint64_t>(positions) << 8;
}

// What the next bits begin with, if so many of them are known: a table of 1 << known for each
// number from 0 to kBits. 0: nothing.
class ByKnownBits {
 public:
  // derive() or the caller fills those of fewer bits than `known`; all others are 0.
  explicit ByKnownBits(int known = kBits) {
    std::fill(entries_.begin() + (1 << known), entries_.end(), 0);
  }
  uint64_t* operator[](int known) { return entries_.data() + (size_t{1} << known); }
  const uint64_t* operator[](int known) const { return entries_.data() + (size_t{1} << known); }

  // The tables of fewer known bits than kBits, of that one's entries where they fit, else of those
  // of `fewer`, where given.
  void derive(const ByKnownBits* fewer) {
    for (int known = kBits - 1; known >= 0; --known) {
      const uint64_t* more = (*this)[known + 1];
      for (size_t i = 0; i < size_t{1} << known; ++i) {
        const uint64_t other = fewer == nullptr ? 0 : (*fewer)[known][i];
        (*this)[known][i] = bits_of(more[2 * i]) <= known ? more[2 * i] : other;
      }
    }
  }

 private:
  std::array<uint64_t, 2 << kBits> entries_;
};

// Calls make(value) for each value of the symbol, the smallest one's bits first, and puts its
// 1 << left entries at `at`.
template <class Make>
void fill_values(const Symbol& symbol, int left, uint64_t* at, const Make& make) {
  for (uint32_t bits = 0; bits < 1u << symbol.size; ++bits, at += size_t{1} << left) {
    make(extend(bits, symbol.size), at);
  }
}

// The entries of `symbol` with that value and, behind it, of `rest`.
template <int positions>
void prepend(uint64_t first, int value, const uint64_t* rest, size_t count, uint64_t* out) {
  constexpr uint64_t kControl = 0xffff, kFirst = kControl << 16, kLast = kControl << 48;
  const uint64_t word = static_cast<uint16_t>(value);
  if (positions <= 2) first |= word << (16 * positions);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t last = BlockTables::positions(rest[i]) == 0 ? word << 48 : rest[i] & kLast;
    out[i] = (first + (rest[i] & kControl)) | last;
    if (positions == 1) out[i] |= (rest[i] & kFirst) << 16;
  }
}

// What may follow a symbol of one position, of two, and of more, so that an entry can hold it: as
// many symbols as it has values for, one less, and none but the block's end.
using Followers = std::array<const ByKnownBits*, 3>;

// The entries of a value that reaches beyond the index. Half of them are negative.
void fill_long(const Symbol& symbol, size_t count, uint64_t* out) {
  if (symbol.code_bits == kBits || symbol.bits() > BlockTables::kMaxBits) return;
  const uint64_t known = control(symbol.bits(), false, symbol.positions);
  // What is subtracted later are the index's bits, of which those of the value are the lowest.
  const int hidden = symbol.bits() - kBits;
  for (size_t i = 0; i < count; ++i) {
    const int value = extend(static_cast<uint32_t>(i << hidden), symbol.size);
    out[i] = known | static_cast<uint64_t>(value) << 48;
  }
}

// Subtracts the bits of the scan that each entry takes from its last value.
void subtract_bits(Entries& entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] == BlockTables::kSlow) continue;
    const int behind = kBits - bits_of(entries[i]);
    entries[i] -= static_cast<uint64_t>(behind >= 0 ? i >> behind : i << -behind) << 48;
  }
}

// Fills the table of kBits. `final`: not one of followers. `read`: dc_symbol or ac_symbol.
template <class Read>
void fill(const HuffmanCode& code, const Read& read, const Followers& followers, uint64_t* table,
          bool final) {
  code.for_each([&](int bits, uint32_t prefix, int byte) {
    const std::optional<Symbol> symbol = read(bits, byte);
    if (!symbol || bits > kBits) return;
    uint64_t* const range = table + (prefix << (kBits - bits));
    const size_t size = size_t{1} << (kBits - bits);
    if (symbol->bits() > kBits) {
      if (final) fill_long(*symbol, size, range);
      return;
    }
    if (symbol->end) return std::fill_n(range, size, control(bits, true, final ? 1 : 0)), void();
    const int left = kBits - symbol->bits();
    const size_t count = size_t{1} << left;
    const uint64_t first = control(symbol->bits(), false, symbol->positions);
    const auto index = static_cast<size_t>(std::min(symbol->positions, 3) - 1);
    const uint64_t* const rest = (*followers[index])[left];
    fill_values(*symbol, left, range, [&](int value, uint64_t* at) {
      if (index == 0) prepend<1>(first, value, rest, count, at);
      if (index == 1) prepend<2>(first, value, rest, count, at);
      if (index == 2) prepend<3>(first, value, rest, count, at);
    });
  });
}

// The block's end, or nothing.
void find_end(const HuffmanCode& code, ByKnownBits& found) {
  code.for_each([&](int bits, uint32_t prefix, int byte) {
    if (byte != 0 || bits > kBits) return;
    std::fill_n(found[kBits] + (prefix << (kBits - bits)), size_t{1} << (kBits - bits),
                control(bits, true, 0));
  });
  found.derive(nullptr);
}

// As many symbols as there are codes of, as entries without values.
void find_chains(const HuffmanCode& code, ByKnownBits& chains) {
  constexpr uint64_t kMaxPositions = 62;
  for (int known = 1; known <= kBits; ++known) {
    code.for_each([&](int bits, uint32_t prefix, int byte) {
      const auto symbol = ac_symbol(bits, byte);
      if (!symbol || bits > known || symbol->bits() > BlockTables::kMaxSkipped) return;
      const uint64_t one =
          control(symbol->bits(), symbol->end, symbol->end ? 0 : symbol->positions);
      uint64_t* const range = chains[known] + (prefix << (known - bits));
      const int left = known - symbol->bits();
      if (symbol->end || left <= 0) {
        std::fill_n(range, size_t{1} << (known - bits), one);
        return;
      }
      const uint64_t* const rest = chains[left];
      fill_values(*symbol, left, range, [&](int, uint64_t* at) {
        for (size_t i = 0; i < size_t{1} << left; ++i) {
          const uint64_t both = one + rest[i];
          const bool fits = bits_of(both) <= BlockTables::kMaxSkipped &&
                            BlockTables::positions(both) <= kMaxPositions;
          at[i] = fits ? both : one;
        }
      });
    });
  }
}

void fill_skip(const ByKnownBits& chains, Entries& entries) {
  const uint64_t* const all = chains[kBits];
  for (size_t i = 0; i < entries.size(); ++i) {
    // A block's end alone takes one position.
    const uint64_t end_alone = all[i] != 0 && BlockTables::positions(all[i]) == 0 ? 1 << 8 : 0;
    entries[i] = all[i] == 0 ? BlockTables::kSlow : all[i] + end_alone;
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
  ByKnownBits end(0), alone, one, two;
  fill(ac_code, ac_symbol, {&end, &end, &end}, alone[kBits], false);
  alone.derive(nullptr);
  find_end(ac_code, end);
  fill(ac_code, ac_symbol, {&end, &end, &end}, one[kBits], false);
  one.derive(&alone);
  fill(ac_code, ac_symbol, {&one, &end, &end}, two[kBits], false);
  two.derive(&one);
  dc.fill(BlockTables::kSlow);
  fill(dc_code, dc_symbol, {&two, &one, &end}, dc.data(), true);
  ac.fill(BlockTables::kSlow);
  fill(ac_code, ac_symbol, {&two, &one, &end}, ac.data(), true);
  subtract_bits(dc);
  subtract_bits(ac);
  has_skip_ = false;
  return true;
}

void BlockTables::make_skip() {
  if (has_skip_) return;
  ByKnownBits chains(0);
  find_chains(ac_code, chains);
  fill_skip(chains, skip);
  has_skip_ = true;
}

}  // namespace stoker
