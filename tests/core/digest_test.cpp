#include "io/dataset/md5.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

std::string md5(const std::string& text, size_t piece) {
  Md5 sum;
  Bytes rest{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  while (!rest.empty()) {
    const size_t count = std::min(piece, rest.size());
    sum.update(rest.first(count));
    rest = rest.subspan(count);
  }
  return sum.finish();
}

TEST(Md5, equals_the_test_suite_of_rfc_1321) {
  EXPECT_EQ(md5("", 1), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5("a", 1), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(md5("message digest", 5), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(md5("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 100),
            "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(md5("1234567890123456789012345678901234567890123456789012345678901234567890"
                "1234567890",
                7),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Md5, does_not_depend_on_the_pieces) {
  const std::string text(1000, 'x');
  for (size_t piece = 1; piece < 200; ++piece) {
    EXPECT_EQ(md5(text, piece), "398533d48111e9f664b1f64cb10c4b63") << piece;
  }
}

TEST(Md5, pads_every_length) {
  // Lengths around the block's end, where the padding needs a second block.
  EXPECT_EQ(md5(std::string(55, 'x'), 64), "04364420e25c512fd958a70738aa8f72");
  EXPECT_EQ(md5(std::string(56, 'x'), 64), "668a72d5ba17f08e62dabcafad6db14b");
  EXPECT_EQ(md5(std::string(63, 'x'), 64), "7dc2ca208106a2f703567bdff99d8981");
  EXPECT_EQ(md5(std::string(64, 'x'), 64), "c1bb4f81d892b2d57947682aeb252456");
}

}  // namespace
}  // namespace stoker
