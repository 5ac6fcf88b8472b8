#include "io/jpeg/block_tables.h"

#include <algorithm>

#if defined(__x86_64__)

#include <bit>

#include "io/jpeg/avx2_constants.h"

namespace stoker {
namespace {

constexpr uint32_t kBits = BlockTables::kBits;
constexpr uint32_t kCount = 1 << kBits;
constexpr uint32_t kIndexMask = kCount - 1;
constexpr uint32_t kEnd = BlockTables::kEnd;
// The lower bits of values that reach beyond the index are not known; they are 0 here.
constexpr uint32_t kMaxBits = BlockTables::kMaxBits;
constexpr uint32_t kHidden = kMaxBits - kBits;
constexpr uint32_t kControl = 0xffff;
// Stands for a symbol that is not known: it has more bits than an entry may have.
constexpr uint32_t kNothing = kMaxBits;

// One for each index, which is the next kBits bits of the scan. Each is the lower half of an entry
// that has one value; a block's end has no value.
using Halves = std::array<uint32_t, kCount>;

// The two halves of all entries of a table. Loops over all are what compilers make vectors of.
struct Pieces {
  alignas(64) Halves low;
  alignas(64) Halves high;
  alignas(64) Halves next;
};

uint32_t bits_of(uint32_t half) { return half & 63; }
uint32_t positions_of(uint32_t half) { return half >> 8 & 255; }
// The bits of the index, and of zeros behind it, that an entry takes.
uint32_t taken(uint32_t index, uint32_t half) {
  return (index << kHidden) >> (kMaxBits - bits_of(half));
}

// What a code stands for.
struct Symbol {
  uint32_t code_bits;
  uint32_t size;  // bits of the value
  uint32_t run;   // zeros before it
  bool possible;  // an encoder makes it

  bool end() const { return size + run == 0; }
  uint32_t bits() const { return code_bits + size; }
};

Symbol dc_symbol(uint32_t bits, uint32_t symbol) { return {bits, symbol, 0, symbol <= kMaxDcSize}; }

Symbol ac_symbol(uint32_t bits, uint32_t symbol) {
  const uint32_t size = symbol & 15, run = symbol >> 4;
  return {bits, size, run, size == 0 ? run % 15 == 0 : size <= kMaxAcSize};
}

// Calls make(symbol) for each code that goes on for 1 to kBits bits behind `ones` ones, with these
// bits as its code, and puts what it gives wherever the index begins with them.
template <class Read, class Make>
void fill(const HuffmanCode& code, uint32_t ones, const Read& read, Halves& out, const Make& make) {
  out.fill(kNothing);
  code.for_each([&](int length, uint32_t whole, uint8_t byte) {
    const uint32_t bits = static_cast<uint32_t>(length) - ones;
    if (bits - 1 >= kBits || whole >> bits != (1u << ones) - 1) return;
    const Symbol symbol = read(bits, byte);
    if (!symbol.possible) return;
    const uint32_t left = kBits - bits;
    std::fill_n(out.begin() + ((whole << left) & kIndexMask), size_t{1} << left, make(symbol));
  });
}

// The symbol that each index begins with, if enough of it is known: all of its code, and the sign
// of its value.
template <bool dc>
STOKER_AVX2 void find_symbols(const HuffmanCode& code, uint32_t ones, Halves& out) {
  fill(code, ones, dc ? dc_symbol : ac_symbol, out, [](const Symbol& symbol) -> uint32_t {
    if (symbol.bits() > kMaxBits || (symbol.code_bits == kBits && symbol.size != 0)) {
      return kNothing;
    }
    const bool end = !dc && symbol.end();
    return symbol.bits() | (end ? kEnd : (symbol.run + 1) << 8) | symbol.size << 16;
  });
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t size = out[i] >> 16, range = 1u << size;
    const uint32_t bits = taken(i, out[i]) & (range - 1);
    const uint32_t value = bits - (bits < range >> 1 ? range - 1 : 0);
    out[i] = (out[i] & kControl) | value << 16;
  }
}

// What follows each piece, as far as it is known, with zeros for what is not.
STOKER_AVX2 void find_next(const Halves& symbols, const Halves& pieces, Halves& out) {
  const __m256i step = _mm256_set1_epi32(8);
  __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (size_t i = 0; i < kCount; i += 8, index = _mm256_add_epi32(index, step)) {
    const auto* const piece = reinterpret_cast<const __m256i*>(pieces.data() + i);
    const __m256i bits = _mm256_and_si256(_mm256_load_si256(piece), _mm256_set1_epi32(63));
    const __m256i behind =
        _mm256_and_si256(_mm256_sllv_epi32(index, bits), _mm256_set1_epi32(kCount - 1));
    const __m256i next =
        _mm256_i32gather_epi32(reinterpret_cast<const int*>(symbols.data()), behind, 4);
    _mm256_store_si256(reinterpret_cast<__m256i*>(out.data() + i), next);
  }
}

// Adds to each piece the symbol behind it, if all of that is known and the piece can hold it:
// values are kept at its first two positions and at its end.
STOKER_AVX2 void append(const Halves& symbols, Pieces& pieces) {
  find_next(symbols, pieces.low, pieces.next);
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t low = pieces.low[i], high = pieces.high[i], next = pieces.next[i];
    // Too many where the piece has ended.
    const uint32_t bits = (low & 0xff) + (next & 63);
    const bool fits = (bits <= kBits) & (((low & 0xff00) <= 0x200) | ((next & kEnd) != 0));
    const uint32_t control = low + (next & kControl);
    const uint32_t second = (control & 0xff00) == 0x200 ? next >> 16 & 0xffff : high & 0xffff;
    const uint32_t values = (next & kEnd) != 0 ? high : second | (next & ~kControl);
    pieces.low[i] = fits ? control : low;
    pieces.high[i] = fits ? values : high;
  }
}

// Makes entries of the first symbols and up to `most` that may follow.
STOKER_AVX2 void make_entries(const Halves& first, const Halves& symbols, int most,
                              BlockTables::Entries& out) {
  Pieces pieces;
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t value = first[i] & ~kControl, positions = positions_of(first[i]);
    pieces.low[i] = first[i] - (positions == 1 ? 0 : value);
    pieces.high[i] = value + (positions == 2 ? value >> 16 : 0);
  }
  for (int more = 0; more < most; ++more) append(symbols, pieces);
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t low = pieces.low[i];
    const uint32_t end_alone = positions_of(low) == 0 ? 1 << 8 : 0;
    const uint64_t high = pieces.high[i] - (taken(i, low) << 16);
    out[i] = low == kNothing ? BlockTables::kSlow : (low | end_alone) | high << 32;
  }
}

// Makes entries of the symbols behind the first bits of long codes.
STOKER_AVX2 void make_far_entries(const Halves& symbols, BlockTables::Entries& out) {
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t control = symbols[i] & kControl;
    const uint64_t high = (symbols[i] & ~kControl) - (taken(i, symbols[i]) << 16);
    const uint32_t less = (control & kEnd) == 0 ? 1 << 8 : 0;
    out[i] = control == kNothing ? BlockTables::kSlow : (control - less) | high << 32;
  }
}

// Adds to each piece without values the symbol behind it. The value's bits need not be known.
STOKER_AVX2 void append_skipped(const Halves& symbols, Halves& pieces) {
  constexpr uint32_t kMaxPositions = 62;
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t piece = pieces[i];
    const uint32_t next = symbols[i << bits_of(piece) & kIndexMask];
    const uint32_t both = piece + (next & kControl);
    const uint32_t bits = bits_of(both), positions = positions_of(both);
    // Too many where the piece has ended.
    const uint32_t known = (piece & 0xff) + (next >> 16);
    const bool fits =
        (known <= kBits) & (bits <= BlockTables::kMaxSkipped) & (positions <= kMaxPositions);
    pieces[i] = fits ? both : piece;
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
  const bool other = other_dc || other_ac;
  if (!other && complete_) return true;
  complete_ = !other;
  const int most = complete_ ? 3 : 1;
  if (!(dc_definition.empty() || assign_dc_code(dc_definition)) || !ac_code.assign(ac_definition)) {
    ac_definition_.clear();
    return false;
  }
  alignas(64) Halves symbols;
  find_symbols<false>(ac_code, 0, symbols);
  make_entries(symbols, symbols, most, ac);
  make_entries(symbols, symbols, 0, one);
  make_far();
  if (!dc_definition.empty()) {
    alignas(64) Halves differences;
    find_symbols<true>(dc_code, 0, differences);
    make_entries(differences, symbols, most, dc);
  }
  has_skip_ = false;
  return true;
}

bool BlockTables::assign_dc_code(Bytes definition) {
  return dc_code.assign(definition) &&
         std::ranges::all_of(definition.subspan(16), [](int symbol) { return symbol <= 15; });
}

void BlockTables::make_far() {
  // How many ones the first code begins with that has as many bits as the index.
  far_bits = std::countl_one(static_cast<uint16_t>(ac_code.behind(kBits - 1)));
  if (far_bits == 0) return;
  alignas(64) Halves symbols;
  find_symbols<false>(ac_code, static_cast<uint32_t>(far_bits), symbols);
  make_far_entries(symbols, far);
  const uint64_t ones = (uint64_t{1} << far_bits) - 1;
  const uint64_t entry = static_cast<uint64_t>(far_bits) | kFar | 1 << 8 | (0 - ones) << 48;
  std::replace(ac.end() - (1 << (kBits - far_bits)), ac.end(), kSlow, entry);
}

void BlockTables::make_skip() {
  if (has_skip_) return;
  alignas(64) Halves symbols, pieces;
  fill(ac_code, 0, ac_symbol, symbols, [](const Symbol& symbol) -> uint32_t {
    if (symbol.bits() > kMaxSkipped) return kNothing;
    return symbol.bits() | (symbol.end() ? kEnd : (symbol.run + 1) << 8) | symbol.code_bits << 16;
  });
  std::ranges::transform(symbols, pieces.begin(), [](uint32_t half) { return half & kControl; });
  for (uint32_t more = 1; more < kBits; ++more) append_skipped(symbols, pieces);
  std::ranges::transform(pieces, skip.begin(), [](uint32_t piece) {
    const uint64_t end_alone = positions_of(piece) == 0 ? 1 << 8 : 0;
    return piece == kNothing ? kSlow : piece | end_alone;
  });
  has_skip_ = true;
}

}  // namespace stoker

#endif

namespace stoker {

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
  size_t bits = 1;
  // It compares all of them, so that no jump can be mispredicted.
  for (size_t shorter = 1; shorter <= 16; ++shorter) bits += next >= limit_[shorter] ? 1 : 0;
  if (bits > 16) return {};
  return {static_cast<uint8_t>(bits), symbol(bits, next >> (16 - bits))};
}

}  // namespace stoker
