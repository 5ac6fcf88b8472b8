#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "io/core/random.h"
#include "io/jpeg/block_tables.h"

// Every entry against the symbols that HuffmanCode finds one after the other.

namespace stoker {
namespace {

constexpr int kBits = BlockTables::kBits;

// As a DHT segment has it: 16 counts, then the symbols, of random lengths; some may get no code.
std::vector<uint8_t> random_code(Random& random, int symbols) {
  std::vector<uint8_t> definition(16);
  uint64_t left = static_cast<uint64_t>(symbols), free = 2;
  for (size_t i = 0; i < 16; ++i, free *= 2) {
    // At least one stays for longer codes: none may be all ones.
    const uint64_t count = std::min({left, uint64_t{255}, random.below(free)});
    definition[i] = static_cast<uint8_t>(count);
    left -= count;
    free -= count;
  }
  const size_t used = static_cast<size_t>(symbols) - left;
  std::vector<uint8_t> order(static_cast<size_t>(symbols));
  std::iota(order.begin(), order.end(), uint8_t{0});
  for (size_t i = 0; i < used; ++i) {
    std::swap(order[i], order[i + random.below(order.size() - i)]);
    definition.push_back(order[i]);
  }
  return definition;
}

struct Symbol {
  int code_bits = 0;  // 0: not in the bits that are known, or not one that an encoder makes
  int size = 0;
  int run = 0;
  bool end = false;
};

Symbol symbol_at(const HuffmanCode& code, uint32_t index, int known, bool dc) {
  const HuffmanSymbol found = code.find(index << (16 - kBits) & 0xffff);
  if (found.bits == 0 || found.bits > known) return {};
  if (dc) return found.symbol > kMaxDcSize ? Symbol{} : Symbol{found.bits, found.symbol, -1, false};
  const int size = found.symbol & 15, run = found.symbol >> 4;
  if (size > static_cast<int>(kMaxAcSize) || (size == 0 && run % 15 != 0)) return {};
  return {found.bits, size, run, found.symbol == 0};
}

uint32_t behind(uint32_t index, int bits) { return index << bits & ((1u << kBits) - 1); }

// The positions of a block from where an entry begins, as a decoder stores its values.
using Piece = std::array<int16_t, 80>;

// `bits`: what the entry takes.
Piece stored(uint64_t entry, uint64_t bits) {
  Piece piece{};
  piece[0] = static_cast<int16_t>(entry >> 16);
  piece[1] = static_cast<int16_t>(entry >> 32);
  piece[BlockTables::positions(entry) - 1] = static_cast<int16_t>((entry >> 48) + bits);
  return piece;
}

// Not of the table: the first bits of a code that is long, or none.
bool leads_to_far(const BlockTables& tables, uint32_t index) {
  const int bits = tables.far_bits;
  return bits > 0 && index >> (kBits - bits) == (1u << bits) - 1;
}

void expect_leads_to_far(const BlockTables& tables, uint64_t entry) {
  const uint64_t ones = (1u << tables.far_bits) - 1;
  EXPECT_EQ(BlockTables::bits(entry), static_cast<uint64_t>(tables.far_bits));
  EXPECT_EQ(entry & (BlockTables::kFar | BlockTables::kEnd), BlockTables::kFar);
  EXPECT_EQ(BlockTables::positions(entry), 1u);
  EXPECT_EQ(stored(entry, ones), Piece{});
}

// A symbol whose first bits are ones, which have taken a position, and whose others the index has.
void expect_far(const BlockTables& tables, uint32_t index, Random& random) {
  const uint64_t entry = tables.far[index];
  const int ones = tables.far_bits;
  const HuffmanSymbol found =
      tables.ac_code.find((0xffff0000u | index << (16 - kBits)) >> ones & 0xffff);
  const int code_bits = found.bits - ones, size = found.symbol & 15, run = found.symbol >> 4;
  const bool possible = size == 0 ? run % 15 == 0 : size <= static_cast<int>(kMaxAcSize);
  const bool known = code_bits < kBits || (code_bits == kBits && size == 0);
  const int bits = code_bits + size;
  if (code_bits <= 0 || !possible || !known || bits > BlockTables::kMaxBits) {
    EXPECT_EQ(entry, BlockTables::kSlow);
    return;
  }
  const bool end = found.symbol == 0;
  ASSERT_EQ(BlockTables::bits(entry), static_cast<uint64_t>(bits));
  EXPECT_EQ(entry & (BlockTables::kFar | BlockTables::kEnd), end ? BlockTables::kEnd : 0);
  EXPECT_EQ(BlockTables::positions(entry), static_cast<uint64_t>(run));
  const uint64_t scan = uint64_t{index} << 20 | random.below(1 << 20);
  const uint64_t taken = scan >> (kBits + 20 - bits);
  EXPECT_EQ(static_cast<uint32_t>(entry >> 16), 0u);
  EXPECT_EQ(static_cast<int16_t>((entry >> 48) + taken),
            extend(static_cast<uint32_t>(taken) & ((1u << size) - 1), size));
}

// How many symbols it has; the longest chain is not demanded, a right one is.
int expect_entry(const BlockTables& tables, const BlockTables::Entries& entries, uint32_t index,
                 Random& random) {
  const uint64_t entry = entries[index];
  const bool dc = &entries == &tables.dc;
  const Symbol first = symbol_at(dc ? tables.dc_code : tables.ac_code, index, kBits, dc);
  const int first_bits = first.code_bits + first.size;
  const bool is_long = first_bits > kBits;
  const bool slow = first.code_bits == 0 || first_bits > BlockTables::kMaxBits ||
                    (is_long && first.code_bits == kBits);
  if (slow && &entries == &tables.ac && leads_to_far(tables, index)) {
    expect_leads_to_far(tables, entry);
    return 0;
  }
  EXPECT_EQ(entry == BlockTables::kSlow, slow);
  if (slow) return 0;
  // The scan: the index, and whatever follows.
  const uint64_t scan = uint64_t{index} << 20 | random.below(1 << 20);
  const int bits = static_cast<int>(BlockTables::bits(entry));
  Piece expected{};
  int at = 0, symbols = 0;
  size_t position = 0;
  bool end = false;
  while (at < bits && !end) {
    const Symbol symbol =
        symbols == 0 ? first : symbol_at(tables.ac_code, behind(index, at), kBits - at, false);
    if (symbol.code_bits == 0) {
      ADD_FAILURE() << "entry " << entry << " at " << at;
      return symbols;
    }
    at += symbol.code_bits + symbol.size;
    const auto value = static_cast<uint32_t>(scan >> (kBits + 20 - at)) & ((1u << symbol.size) - 1);
    end = symbol.end;
    if (!end) position += static_cast<size_t>(symbol.run + (symbols == 0 && dc ? 2 : 1));
    if (!end) expected[position - 1] = static_cast<int16_t>(extend(value, symbol.size));
    ++symbols;
  }
  EXPECT_EQ(at, bits);
  EXPECT_EQ(BlockTables::positions(entry), std::max<size_t>(position, 1));
  EXPECT_EQ((entry & BlockTables::kEnd) != 0, end);
  EXPECT_EQ(stored(entry, scan >> (kBits + 20 - bits)), expected);
  return symbols;
}

// How many symbols it has; the longest chain is not demanded, a right one is.
int expect_skip(const BlockTables& tables, uint32_t index) {
  const uint64_t entry = tables.skip[index];
  const Symbol first = symbol_at(tables.ac_code, index, kBits, false);
  const bool slow = first.code_bits == 0 || first.code_bits + first.size > BlockTables::kMaxSkipped;
  EXPECT_EQ(entry == BlockTables::kSlow, slow);
  if (slow) return 0;
  const int bits = static_cast<int>(BlockTables::bits(entry));
  EXPECT_LE(bits, BlockTables::kMaxSkipped);
  EXPECT_EQ(entry >> 16, 0u);
  const uint64_t positions = BlockTables::positions(entry);
  EXPECT_LT(positions, 63u);
  int at = 0, symbols = 0;
  uint64_t far = 0;
  bool end = false;
  while (at < bits && !end) {
    const Symbol symbol =
        at < kBits ? symbol_at(tables.ac_code, behind(index, at), kBits - at, false) : Symbol{};
    if (symbol.code_bits == 0) {
      ADD_FAILURE() << "entry " << entry << " at " << at;
      return symbols;
    }
    at += symbol.code_bits + symbol.size;
    if (!symbol.end) far += static_cast<uint64_t>(symbol.run + 1);
    end = symbol.end;
    ++symbols;
  }
  EXPECT_EQ(at, bits);
  EXPECT_EQ(positions, std::max<uint64_t>(far, 1));
  EXPECT_EQ((entry & BlockTables::kEnd) != 0, end);
  return symbols;
}

TEST(BlockTables, every_entry_is_what_the_bits_say) {
  Random random(2);
  BlockTables tables;
  // Of tables that are used once, and again.
  std::array<int, 2> longest_of{};
  int longest_skip = 0;
  for (size_t i = 0; i < 200; ++i) {
    const auto dc = random_code(random, i % 3 == 0 ? 16 : 12);
    const auto ac = random_code(random, 1 + static_cast<int>(random.below(256)));
    const size_t uses = i % 4 == 0 ? 0 : 1;
    for (size_t use = 0; use <= uses; ++use) ASSERT_TRUE(tables.assign(dc, ac));
    tables.make_skip();
    int& longest = longest_of[uses];
    for (uint32_t index = 0; index < 1u << kBits; ++index) {
      longest = std::max(longest, expect_entry(tables, tables.dc, index, random));
      longest = std::max(longest, expect_entry(tables, tables.ac, index, random));
      EXPECT_LE(expect_entry(tables, tables.one, index, random), 1);
      if (tables.far_bits > 0) expect_far(tables, index, random);
      longest_skip = std::max(longest_skip, expect_skip(tables, index));
      if (testing::Test::HasFailure()) FAIL() << "code " << i << ", index " << index;
    }
  }
  EXPECT_EQ(longest_of[0], 2);
  EXPECT_EQ(longest_of[1], 4);  // three values and the end
  EXPECT_GE(longest_skip, 4);
}

}  // namespace
}  // namespace stoker
