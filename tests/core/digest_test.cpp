#include "io/core/digest.h"

#include <gtest/gtest.h>

#include "io/core/error.h"

namespace stoker {
namespace {

std::string hash(const char* name, const std::string& text, size_t piece = 1) {
  Digest sum(name);
  Bytes rest{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  while (!rest.empty()) {
    const size_t count = std::min(piece, rest.size());
    sum.update(rest.first(count));
    rest = rest.subspan(count);
  }
  return sum.finish();
}

TEST(Digest, is_that_of_the_standards) {
  EXPECT_EQ(hash("MD5", ""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hash("MD5", "message digest", 5), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hash("SHA256", "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abc"), hash("SHA256", "abc"));
  EXPECT_EQ(xxh3_64(""), "2d06800538d394c2");
  EXPECT_EQ(xxh3_128(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Digest, does_not_depend_on_the_pieces) {
  const std::string text(1000, 'x');
  for (const size_t piece : {1, 63, 64, 65, 1000}) {
    EXPECT_EQ(hash("MD5", text, piece), "398533d48111e9f664b1f64cb10c4b63") << piece;
  }
}

TEST(Digest, that_nobody_offers_is_refused) { EXPECT_THROW(Digest("ROT13"), Error); }

}  // namespace
}  // namespace stoker
