#include "io/decoder/jpeg/huffman.h"

#include <algorithm>

namespace stoker {
namespace {

// True: `kept` is now `definition` and was something else.
bool replace(std::vector<uint8_t>& kept, Bytes definition) {
  if (std::ranges::equal(kept, definition)) return false;
  kept.assign(definition.begin(), definition.end());
  return true;
}

constexpr int kBits = BlockTables::kBits;
constexpr uint32_t kMask = (1u << kBits) - 1;

// What the upper `known` of kBits bits begin with.
struct Symbol {
  int code_bits = 0;  // 0: its code is not in them, or not one that an encoder makes
  int size = 0;       // bits of the value
  int run = 0;        // zeros before it
  bool end = false;   // of the block
  int bits() const { return code_bits + size; }
};

Symbol dc_symbol(const HuffmanCode& code, uint32_t index) {
  const HuffmanSymbol found = code.find(index << (16 - kBits));
  if (found.bits == 0 || found.bits > kBits || found.symbol > kMaxDcSize) {
    return {0, 0, -1, false};
  }
  return {found.bits, found.symbol, -1, false};
}

Symbol ac_symbol(const HuffmanCode& code, uint32_t index, int known) {
  const HuffmanSymbol found = code.find(index << (16 - kBits));
  const int size = found.symbol & 15, run = found.symbol >> 4;
  if (found.bits > known || size > static_cast<int>(kMaxAcSize)) return {};
  if (size == 0 && run != 0 && run != 15) return {};
  return {found.bits, size, run, found.symbol == 0};
}

int value_of(const Symbol& symbol, uint32_t index) {
  if (symbol.size == 0) return 0;
  const uint32_t bits = index >> (kBits - symbol.bits()) & ((1u << symbol.size) - 1);
  return extend(bits, symbol.size);
}

uint32_t pack(int bits, bool end, int value, int advance, int second_advance, int second_value) {
  return static_cast<uint32_t>(bits) | (end ? BlockTables::kEnd : 0) |
         static_cast<uint32_t>(static_cast<uint8_t>(value)) << 8 |
         static_cast<uint32_t>(advance) << 16 | static_cast<uint32_t>(second_advance) << 21 |
         static_cast<uint32_t>(second_value) << 27;
}

// What is known of a symbol that does not fit.
uint32_t slow_entry(const Symbol& symbol) {
  const int known = symbol.code_bits == 0 ? 0 : symbol.code_bits | symbol.size << 4;
  return pack(0, false, known, symbol.run + 1, static_cast<int>(BlockTables::kSlow), 0);
}

bool fits(const Symbol& symbol, int known, int max_size) {
  return symbol.code_bits != 0 && symbol.bits() <= known && symbol.size <= max_size;
}

// The sizes of values that an entry can hold.
constexpr int kMaxFirst = 7, kMaxSecond = 4;

// `first` fits.
uint32_t entry_of(const Symbol& first, const HuffmanCode& ac_code, uint32_t index) {
  if (first.end) return pack(first.bits(), true, 0, 1, 0, 0);
  const int advance = first.run + 1, value = value_of(first, index);
  const uint32_t rest = index << first.bits() & kMask;
  const int known = kBits - first.bits();
  const Symbol second = ac_symbol(ac_code, rest, known);
  if (!fits(second, known, kMaxSecond)) return pack(first.bits(), false, value, advance, 0, 0);
  const int bits = first.bits() + second.bits();
  if (second.end) return pack(bits, true, value, advance, 0, 0);
  return pack(bits, false, value, advance, second.run + 1, value_of(second, rest));
}

}  // namespace

bool HuffmanCode::assign(Bytes definition) {
  limit_.fill(0);
  uint32_t code = 0;
  int32_t symbols = 0;
  for (size_t bits = 1; bits <= 16; ++bits) {
    const int32_t count = definition[bits - 1];
    offset_[bits] = symbols - static_cast<int32_t>(code);
    code += static_cast<uint32_t>(count);
    symbols += count;
    // No code is all ones.
    if (count > 0 && code >= 1u << bits) return false;
    limit_[bits] = code << (16 - bits);
    code <<= 1;
  }
  std::copy(definition.begin() + 16, definition.end(), symbols_.begin());
  return true;
}

HuffmanSymbol HuffmanCode::find(uint32_t next) const {
  for (size_t bits = 1; bits <= 16; ++bits) {
    if (next >= limit_[bits]) continue;
    const auto index = static_cast<int32_t>(next >> (16 - bits)) + offset_[bits];
    return {static_cast<uint8_t>(bits), symbols_[static_cast<size_t>(index)]};
  }
  return {};
}

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
  for (uint32_t index = 0; index <= kMask; ++index) {
    const Symbol difference = dc_symbol(dc_code, index);
    dc[index] = fits(difference, kBits, kMaxFirst) ? entry_of(difference, ac_code, index)
                                                   : slow_entry(difference);
    const Symbol symbol = ac_symbol(ac_code, index, kBits);
    ac[index] =
        fits(symbol, kBits, kMaxFirst) ? entry_of(symbol, ac_code, index) : slow_entry(symbol);
  }
  return true;
}

}  // namespace stoker
