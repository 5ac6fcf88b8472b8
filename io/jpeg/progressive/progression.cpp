#include "io/jpeg/progressive/progression.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr int kMaxLow = 13;  // T.81, table B.3

}  // namespace

bool ProgressiveScan::assign(const JpegFrame& frame, Bytes payload) {
  if (payload.empty()) return false;
  count = payload[0];
  if (count < 1 || count > frame.components || payload.size() != 4 + 2 * count) return false;
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    while (next < frame.components && frame.component[next].id != payload[1 + 2 * i]) ++next;
    if (next == frame.components) return false;
    component[i] = next++;
    const uint8_t tables = payload[2 + 2 * i];
    dc_table[i] = tables >> 4;
    ac_table[i] = tables & 15;
    if (dc_table[i] > 3 || ac_table[i] > 3) return false;
  }
  const uint8_t* spectral = payload.data() + 1 + 2 * count;
  first = spectral[0];
  last = spectral[1];
  high = spectral[2] >> 4;
  low = spectral[2] & 15;
  if (of_dc() ? last != 0 : first > last || last > 63 || count != 1) return false;
  return low <= kMaxLow && (high == 0 || high == low + 1);
}

bool Progression::take(const ProgressiveScan& scan) {
  for (size_t i = 0; i < scan.count; ++i) {
    auto& low = low_[scan.component[i]];
    if (!scan.of_dc() && low[0] == kUnknown) return false;
    const int expected = scan.refines() ? scan.high : kUnknown;
    for (auto k = static_cast<size_t>(scan.first); k <= static_cast<size_t>(scan.last); ++k) {
      if (low[k] != expected) return false;
      low[k] = static_cast<int8_t>(scan.low);
    }
  }
  return true;
}

bool Progression::complete(size_t components) const {
  return std::all_of(low_.begin(), low_.begin() + static_cast<ptrdiff_t>(components),
                     [](const auto& component) {
                       return std::ranges::all_of(component, [](int8_t low) { return low == 0; });
                     });
}

namespace {

constexpr uint32_t kMaxRefinedBits = 14;  // of a value that keeps away from the ends of 16 bits

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
  if (size + static_cast<uint32_t>(low_) > kMaxRefinedBits) return 0;
  const bool end = !difference && size == 0 && run < 15;
  const uint32_t more = end ? run : size;
  return (static_cast<uint32_t>(bits) + more) | (end ? kEnd : 0) | (size != 0 ? 0x80u : 0) |
         static_cast<uint32_t>(bits) << 8 | more << 16 | run << 20;
}

}  // namespace stoker
