#include "io/core/digest.h"

#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stoker {
namespace {

std::string hash(Digest::Kind kind, const std::string& text, size_t piece = 1) {
  Digest sum(kind);
  Bytes rest{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  while (!rest.empty()) {
    const size_t count = std::min(piece, rest.size());
    sum.update(rest.first(count));
    rest = rest.subspan(count);
  }
  return sum.finish();
}

TEST(Digest, is_that_of_the_standards) {
  EXPECT_EQ(hash(Digest::Kind::md5, ""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hash(Digest::Kind::md5, "message digest", 5), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hash(Digest::Kind::sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abc"), hash(Digest::Kind::sha256, "abc"));
  EXPECT_EQ(xxh3_64(""), "2d06800538d394c2");
  EXPECT_EQ(xxh3_128(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Digest, does_not_depend_on_the_pieces) {
  const std::string text(1000, 'x');
  for (const size_t piece : {1, 63, 64, 65, 1000}) {
    EXPECT_EQ(hash(Digest::Kind::md5, text, piece), "398533d48111e9f664b1f64cb10c4b63") << piece;
  }
}

// OpenSSL's first use may be in a thread that saves a checkpoint, when memory has become short.
TEST(Digest, needs_no_memory_of_openssl) {
  const pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    const bool set =
        CRYPTO_set_mem_functions([](size_t, const char*, int) -> void* { return nullptr; },
                                 [](void*, size_t, const char*, int) -> void* { return nullptr; },
                                 [](void*, const char*, int) {}) == 1;
    const bool right =
        hash(Digest::Kind::sha256, "abc") ==
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" &&
        hash(Digest::Kind::md5, "message digest") == "f96b697d7cb7938d525a2f31aaf161d0";
    ::_exit(set && right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace stoker
