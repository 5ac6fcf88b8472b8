#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "io/core/random.h"
#include "io/decoder/jpeg/block_tables.h"

// Every entry against the symbols that HuffmanCode finds one after the other.

namespace stoker {
namespace {

constexpr int kBits = BlockTables::kBits;
constexpr uint32_t kNothingKnown = 1u << 16 | BlockTables::kSlow << 21;

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

int value_at(uint32_t index, const Symbol& symbol) {
  const int behind = kBits - symbol.code_bits - symbol.size;
  return extend(index >> behind & ((1u << symbol.size) - 1), symbol.size);
}

uint32_t behind(uint32_t index, int bits) { return index << bits & ((1u << kBits) - 1); }

void expect_entry(const BlockTables& tables, uint32_t index, bool dc) {
  const uint32_t entry = (dc ? tables.dc : tables.ac)[index];
  const Symbol first = symbol_at(dc ? tables.dc_code : tables.ac_code, index, kBits, dc);
  if (BlockTables::is_slow(entry)) {
    ASSERT_EQ(entry & 63, 0u);
    ASSERT_EQ(BlockTables::is_known_code(entry), first.code_bits != 0);
    if (first.code_bits == 0) {
      ASSERT_EQ(entry, kNothingKnown);
      return;
    }
    ASSERT_EQ(BlockTables::known_code(entry), static_cast<uint32_t>(first.code_bits));
    ASSERT_EQ(BlockTables::known_size(entry), static_cast<uint32_t>(first.size));
    ASSERT_EQ(BlockTables::advance(entry), static_cast<uint64_t>(first.run + 1));
    ASSERT_TRUE(first.code_bits + first.size > kBits || first.size > 7);
    return;
  }
  ASSERT_NE(first.code_bits, 0);
  int bits = first.code_bits + first.size;
  ASSERT_LE(bits, kBits);
  ASSERT_EQ(BlockTables::advance(entry), static_cast<uint64_t>(first.end ? 1 : first.run + 1));
  ASSERT_EQ(BlockTables::value(entry), value_at(index, first));
  bool end = first.end;
  if (!end) {
    const uint32_t rest = behind(index, bits);
    const Symbol second = symbol_at(tables.ac_code, rest, kBits - bits, false);
    const bool fits =
        second.code_bits != 0 && second.size <= 4 && bits + second.code_bits + second.size <= kBits;
    ASSERT_EQ(BlockTables::second_advance(entry),
              static_cast<uint64_t>(fits && !second.end ? second.run + 1 : 0));
    ASSERT_EQ(BlockTables::second_value(entry), fits ? value_at(rest, second) : 0);
    if (fits) bits += second.code_bits + second.size;
    end = fits && second.end;
  }
  ASSERT_EQ(entry & 63, static_cast<uint32_t>(bits));
  ASSERT_EQ((entry & BlockTables::kEnd) != 0, end);
}

// How many symbols it has; the longest chain is not demanded, a right one is.
int expect_skip(const BlockTables& tables, uint32_t index) {
  const uint32_t entry = tables.skip[index];
  const Symbol first = symbol_at(tables.ac_code, index, kBits, false);
  const bool slow = first.code_bits == 0 || first.code_bits + first.size > BlockTables::kMaxSkipped;
  EXPECT_EQ(BlockTables::is_slow(entry), slow);
  if (slow) {
    EXPECT_EQ(entry, kNothingKnown);
    return 0;
  }
  const int bits = static_cast<int>(entry & 63);
  EXPECT_LE(bits, BlockTables::kMaxSkipped);
  EXPECT_EQ(BlockTables::value(entry), 0);
  EXPECT_GE(BlockTables::advance(entry), 1u);  // else it overwrites the difference
  const uint64_t advance = BlockTables::advance(entry) + BlockTables::second_advance(entry);
  EXPECT_LT(advance, 63u);
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
  EXPECT_EQ(advance, std::max<uint64_t>(far, 1));
  EXPECT_EQ((entry & BlockTables::kEnd) != 0, end);
  return symbols;
}

TEST(BlockTables, every_entry_is_what_the_bits_say) {
  Random random(1);
  BlockTables tables;
  int longest = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(tables.assign(random_code(random, i % 3 == 0 ? 16 : 12),
                              random_code(random, 1 + static_cast<int>(random.below(256)))));
    for (uint32_t index = 0; index < 1u << kBits; ++index) {
      expect_entry(tables, index, true);
      expect_entry(tables, index, false);
      longest = std::max(longest, expect_skip(tables, index));
      if (testing::Test::HasFailure()) FAIL() << "code " << i << ", index " << index;
    }
  }
  EXPECT_GE(longest, 4);
}

}  // namespace
}  // namespace stoker
