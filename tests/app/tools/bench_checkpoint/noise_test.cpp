#include "app/tools/bench_checkpoint/noise.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "io/core/random.h"
#include "io/core/system/memory.h"

namespace stoker {
namespace {

std::vector<uint8_t> noise(uint64_t seed, uint64_t offset, size_t bytes) {
  const HostMemory memory = allocate_huge(bytes + 64, false);
  fill_noise(seed, offset, {memory.data.get(), bytes});
  return {memory.data.get(), memory.data.get() + bytes};
}

// As noise.h has it, number by number.
std::vector<uint8_t> by_hand(uint64_t seed, uint64_t block, size_t bytes) {
  std::array<uint64_t, 16> lanes{};
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = mix(seed, block, i) | 1;
  std::vector<uint8_t> out;
  while (out.size() < bytes) {
    for (uint64_t& x : lanes) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      for (int i = 0; i < 64; i += 8) out.push_back(static_cast<uint8_t>(x >> i));
    }
  }
  out.resize(bytes);
  return out;
}

TEST(Noise, is_the_same_on_every_machine) {
  EXPECT_EQ(noise(7, 3 * kNoiseBlock, 5000), by_hand(7, 3, 5000));
  // Memory that is not aligned, for which no vectors are used.
  const HostMemory memory = allocate_huge(8192, false);
  fill_noise(7, 3 * kNoiseBlock, {memory.data.get() + 1, 5000});
  const std::vector<uint8_t> expected = by_hand(7, 3, 5000);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.data.get() + 1));
}

TEST(Noise, any_part_of_it_can_be_made_by_itself) {
  const std::vector<uint8_t> whole = noise(1, 0, 3 * kNoiseBlock + 77);
  for (const uint64_t block : {0, 1, 2, 3}) {
    const size_t at = block * kNoiseBlock, size = std::min<size_t>(kNoiseBlock, whole.size() - at);
    const std::vector<uint8_t> part = noise(1, at, size);
    EXPECT_TRUE(
        std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(at)));
  }
  EXPECT_NE(noise(1, 0, 64), noise(2, 0, 64));
}

uint64_t compressed(const std::vector<uint8_t>& bytes, int level) {
  uLongf size = compressBound(bytes.size());
  std::vector<uint8_t> packed(size);
  EXPECT_EQ(compress2(packed.data(), &size, bytes.data(), bytes.size(), level), Z_OK);
  return size;
}

TEST(Noise, does_not_compress) {
  const std::vector<uint8_t> bytes = noise(5, 0, 4 << 20);
  for (const int level : {1, 6, 9}) EXPECT_GT(compressed(bytes, level), bytes.size()) << level;
  // Beside bytes of three in four values, which do.
  std::vector<uint8_t> fewer = bytes;
  for (uint8_t& byte : fewer) byte = static_cast<uint8_t>(byte % 192);
  EXPECT_LT(compressed(fewer, 6), fewer.size() * 97 / 100);
}

// A device that looks for equal blocks finds none: not in a rank, nor in another rank or step.
TEST(Noise, no_block_occurs_twice) {
  constexpr size_t kSector = 512;
  std::set<std::vector<uint8_t>> seen;
  size_t sectors = 0;
  for (const uint64_t rank : {0, 1, 511}) {
    for (const uint64_t step : {1, 2}) {
      const std::vector<uint8_t> bytes = noise(mix(rank, step), 0, 4 * kNoiseBlock);
      for (size_t at = 0; at < bytes.size(); at += kSector, ++sectors) {
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        seen.emplace(begin, begin + 16);
      }
    }
  }
  EXPECT_EQ(seen.size(), sectors);
}

TEST(Noise, its_speed_is_measured_beside_that_of_memory) {
  const NoiseSpeed speed = measure_noise(2);
  EXPECT_GT(speed.noise, 1e8);
  EXPECT_GT(speed.memset, 1e8);
  EXPECT_GT(speed.memcpy, 1e8);
}

}  // namespace
}  // namespace stoker
