#include <gtest/gtest.h>

#include "io/jpeg/block_order_avx2.h"
#include "io/jpeg/jpeg_frame.h"
#include "tests/decoder/jpeg_blocks.h"

namespace stoker {
namespace {

Block random_block(Random& random, size_t values) {
  Block scan{};
  for (size_t i = 0; i < values; ++i) scan.values[i] = static_cast<int16_t>(random.next());
  return scan;
}

template <size_t n>
STOKER_AVX2 Block stored(const RowPairs<n>& rows) {
  Block block{};
  for (size_t i = 0; i < n; ++i) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(block.values + 16 * i), rows.of[i]);
  }
  return block;
}
Block twos() {
  Block factors;
  std::fill_n(factors.values, 64, int16_t{2});
  return factors;
}
STOKER_AVX2 Block doubled(const Block& scan) {
  return stored(natural_rows(scan.values, twos().values));
}
STOKER_AVX2 Block ten_doubled(const Block& scan) {
  return stored(natural_rows_of_ten(scan.values, twos().values));
}
STOKER_AVX2 BlockExtent extent_of(const Block& scan) { return block_extent(scan.values); }

TEST(BlockOrder, every_value_gets_to_its_place) {
  Random random(1);
  for (const size_t values : {size_t{1}, size_t{10}, size_t{64}}) {
    const Block scan = random_block(random, values);
    const Block all = doubled(scan), first_ten = ten_doubled(scan);
    for (size_t i = 0; i < 64; ++i) {
      const auto expected = static_cast<int16_t>(2 * scan.values[i]);
      EXPECT_EQ(all.values[kScanOrder[i]], expected) << i;
      EXPECT_TRUE(values > 10 || first_ten.values[kScanOrder[i]] == expected) << i;
    }
  }
}

TEST(BlockOrder, the_extent_reaches_to_the_last_value) {
  for (size_t last = 0; last < 64; ++last) {
    for (const int16_t value : {1, -1, -32768}) {
      Block scan{};
      scan.values[0] = value;
      scan.values[last] = value;
      const BlockExtent expected = last == 0   ? BlockExtent::first
                                   : last < 10 ? BlockExtent::first_ten
                                               : BlockExtent::all;
      EXPECT_EQ(extent_of(scan), expected) << last;
    }
  }
}

}  // namespace
}  // namespace stoker
