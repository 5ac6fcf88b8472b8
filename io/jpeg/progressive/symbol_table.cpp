#include "io/jpeg/progressive/symbol_table.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr uint32_t kMaxBits = 14;  // of a value that keeps away from the ends of 16 bits

}  // namespace

bool SymbolTable::assign(Bytes definition, SymbolKind kind, int low) {
  if (definition.empty() || !code_.assign(definition)) return false;
  kind_ = kind;
  low_ = low;
  if (kind == SymbolKind::difference &&
      std::any_of(definition.begin() + 16, definition.end(),
                  [](uint8_t symbol) { return symbol > kMaxDcSize; })) {
    return false;
  }
  entries_.fill(0);
  code_.for_each([&](int bits, uint32_t prefix, uint8_t symbol) {
    if (bits > kBits) return;
    const int left = kBits - bits;
    std::fill_n(entries_.data() + (prefix << left), size_t{1} << left, entry(bits, symbol));
  });
  return true;
}

uint32_t SymbolTable::find(uint32_t next) const {
  const HuffmanSymbol found = code_.find(next);
  return found.bits == 0 ? 0 : entry(found.bits, found.symbol);
}

uint32_t SymbolTable::entry(int bits, uint8_t symbol) const {
  const bool difference = kind_ == SymbolKind::difference;
  const uint32_t size = difference ? symbol : symbol & 15u, run = difference ? 0 : symbol >> 4;
  if (!difference && size > 1) return 0;
  if (size + static_cast<uint32_t>(low_) > kMaxBits) return 0;
  const bool end = !difference && size == 0 && run < 15;
  const uint32_t more = end ? run : size;
  return (static_cast<uint32_t>(bits) + more) | (end ? kEnd : 0) | (size != 0 ? 0x80u : 0) |
         static_cast<uint32_t>(bits) << 8 | more << 16 | run << 20;
}

}  // namespace stoker
