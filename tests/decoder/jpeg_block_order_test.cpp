#include <gtest/gtest.h>

#include "io/decoder/jpeg/block_order.h"
#include "io/decoder/jpeg/jpeg_frame.h"
#include "tests/decoder/jpeg_blocks.h"

namespace stoker {
namespace {

Block random_block(Random& random, size_t values) {
  Block scan{};
  for (size_t i = 0; i < values; ++i) scan.values[i] = static_cast<int16_t>(random.next());
  return scan;
}

TEST(BlockOrder, every_value_gets_to_its_place) {
  Random random(1);
  for (const size_t values : {size_t{1}, size_t{10}, size_t{64}}) {
    const Block scan = random_block(random, values);
    Block all, first_ten;
    reorder_block(scan.values, all.values);
    reorder_first_ten(scan.values, first_ten.values);
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(kScanOrder[i], JpegBlocks::kZigzag[i]);
      EXPECT_EQ(all.values[kScanOrder[i]], scan.values[i]) << i;
      EXPECT_TRUE(values > 10 || first_ten.values[kScanOrder[i]] == scan.values[i]) << i;
    }
  }
}

TEST(BlockOrder, the_extent_reaches_to_the_last_value) {
  for (size_t last = 0; last < 64; ++last) {
    Block scan{};
    for (const int16_t value : {1, -1, -32768}) {
      scan.values[last] = value;
      const BlockExtent expected = last == 0   ? BlockExtent::first
                                   : last < 10 ? BlockExtent::first_ten
                                               : BlockExtent::all;
      EXPECT_EQ(block_extent(scan.values), expected) << last;
    }
  }
}

}  // namespace
}  // namespace stoker
