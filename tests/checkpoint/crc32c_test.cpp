#include "io/core/crc32c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace stoker {
namespace {

Bytes text_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::vector<uint8_t> random_bytes(size_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// The definition, bit by bit.
uint32_t slow_crc32c(Bytes bytes) {
  uint32_t remainder = ~0u;
  for (const uint8_t byte : bytes) {
    remainder ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = remainder & 1 ? (remainder >> 1) ^ 0x82f63b78 : remainder >> 1;
  }
  return ~remainder;
}

TEST(Crc32c, known_answers_of_rfc_3720) {
  std::vector<uint8_t> rising(32);
  std::iota(rising.begin(), rising.end(), uint8_t{0});
  const std::vector<uint8_t> falling(rising.rbegin(), rising.rend());
  EXPECT_EQ(crc32c(text_bytes("123456789")), 0xe3069283);
  EXPECT_EQ(crc32c(std::vector<uint8_t>(32, 0x00)), 0x8a9136aa);
  EXPECT_EQ(crc32c(std::vector<uint8_t>(32, 0xff)), 0x62a8ab43);
  EXPECT_EQ(crc32c(rising), 0x46dd794e);
  EXPECT_EQ(crc32c(falling), 0x113fdb5c);
}

TEST(Crc32c, the_crc_of_nothing_is_what_stands_before) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c({}, 0xe3069283), 0xe3069283);
}

TEST(Crc32c, every_length_and_alignment_agrees_with_the_definition) {
  const std::vector<uint8_t> data = random_bytes(700);
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t length = 0; length + begin <= data.size(); length += 1 + length / 9) {
      const Bytes part = Bytes(data).subspan(begin, length);
      ASSERT_EQ(crc32c(part), slow_crc32c(part)) << begin << " " << length;
    }
}

TEST(Crc32c, a_crc_continues) {
  const std::vector<uint8_t> data = random_bytes(1000);
  for (size_t split = 0; split <= data.size(); ++split) {
    const uint32_t first = crc32c(Bytes(data).first(split));
    ASSERT_EQ(crc32c(Bytes(data).subspan(split), first), crc32c(data)) << split;
  }
}

TEST(Crc32c, neighbours_combine_at_every_split) {
  const std::vector<uint8_t> data = random_bytes(1000);
  for (size_t split = 0; split <= data.size(); ++split) {
    const Bytes second = Bytes(data).subspan(split);
    const uint32_t first = crc32c(Bytes(data).first(split));
    ASSERT_EQ(crc32c_combine(first, crc32c(second), second.size()), crc32c(data)) << split;
  }
}

TEST(Crc32c, long_neighbours_combine) {
  const std::vector<uint8_t> data = random_bytes(9 << 20);
  const uint32_t all = crc32c(data);
  for (const size_t split : {size_t{1}, size_t{4096}, size_t{3} << 20, size_t{8} << 20}) {
    const Bytes second = Bytes(data).subspan(split);
    const uint32_t first = crc32c(Bytes(data).first(split));
    EXPECT_EQ(crc32c_combine(first, crc32c(second), second.size()), all) << split;
  }
}

TEST(Crc32c, combining_over_more_than_four_gibibytes_is_associative) {
  // CRCs of a GiB of zeros, put together in two orders.
  uint32_t zeros = crc32c(std::vector<uint8_t>(1 << 20));
  for (uint64_t bytes = 1 << 20; bytes < (1 << 30); bytes *= 2)
    zeros = crc32c_combine(zeros, zeros, bytes);
  const uint64_t gib = 1 << 30;
  uint32_t one_by_one = 0x12345678;
  for (int i = 0; i < 8; ++i) one_by_one = crc32c_combine(one_by_one, zeros, gib);
  uint32_t eight = zeros;
  for (uint64_t bytes = gib; bytes < 8 * gib; bytes *= 2)
    eight = crc32c_combine(eight, eight, bytes);
  EXPECT_EQ(crc32c_combine(0x12345678, eight, 8 * gib), one_by_one);
}

TEST(Crc32c, every_flipped_bit_changes_it) {
  std::vector<uint8_t> data = random_bytes(512);
  const uint32_t sum = crc32c(data);
  for (size_t bit = 0; bit < 8 * data.size(); ++bit) {
    data[bit / 8] ^= 1 << (bit % 8);
    ASSERT_NE(crc32c(data), sum) << bit;
    data[bit / 8] ^= 1 << (bit % 8);
  }
}

// Copies between buffers with guards around the target.
void expect_copy(const std::vector<uint8_t>& source, size_t from, size_t to, size_t length) {
  constexpr uint8_t guard = 0xa5;
  const Bytes wanted = Bytes(source).subspan(from, length);
  std::vector<uint8_t> target(to + length + 200, guard);
  ASSERT_EQ(copy_crc32c(target.data() + to, wanted), crc32c(wanted)) << from << to << length;
  ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), target.data() + to)) << from << to << length;
  ASSERT_EQ(std::count(target.begin(), target.begin() + to, guard), to) << length;
  ASSERT_EQ(std::count(target.end() - 200, target.end(), guard), 200) << length;
}

TEST(Crc32c, a_copy_is_exact_for_every_small_size) {
  const std::vector<uint8_t> source = random_bytes(600);
  for (size_t length = 0; length < 500; ++length)
    expect_copy(source, length % 7, length % 5, length);
}

TEST(Crc32c, a_copy_is_exact_for_odd_sizes_and_alignments) {
  const std::vector<uint8_t> source = random_bytes((1 << 20) + 100);
  for (const size_t size : {65'535, 262'143, 262'144, 262'145, 270'336, 270'337, 300'007, 1 << 20})
    for (const size_t from : {0, 1, 32})
      for (const size_t to : {0, 1, 8, 16, 31, 33}) expect_copy(source, from, to, size);
}

TEST(Crc32c, copying_nothing_touches_nothing) { EXPECT_EQ(copy_crc32c(nullptr, {}), 0u); }

}  // namespace
}  // namespace stoker
