#include <gtest/gtest.h>

#include "io/core/random.h"
#include "io/jpeg/inverse_dct.h"
#include "tests/decoder/jpeg_blocks.h"
#include "tests/support/short_tests.h"

namespace stoker {
namespace {

// libjpeg-turbo's samples, before upsampling.
std::vector<Pixels> decoded_planes(const File& file, const JpegBlocks& jpeg) {
  std::vector<Pixels> planes;
  unsigned char* pointers[3] = {};
  int strides[3] = {};
  for (size_t c = 0; c < jpeg.components.size(); ++c) {
    const int component = static_cast<int>(c);
    strides[c] = tjPlaneWidth(component, jpeg.width, jpeg.subsampling);
    planes.emplace_back(
        static_cast<size_t>(strides[c] * tjPlaneHeight(component, jpeg.height, jpeg.subsampling)));
  }
  for (size_t c = 0; c < planes.size(); ++c) pointers[c] = planes[c].data();
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitDecompress(), tjDestroy);
  if (tjDecompressToYUVPlanes(handle.get(), file.data(), file.size(), pointers, jpeg.width, strides,
                              jpeg.height, TJFLAG_ACCURATEDCT) != 0) {
    throw std::runtime_error(tjGetErrorStr2(handle.get()));
  }
  return planes;
}

void expect_libjpegs_samples(const File& file, const InverseDcts& dcts, const std::string& what) {
  const JpegBlocks jpeg(file);
  const Samples samples(jpeg, dcts);
  const std::vector<Pixels> expected = decoded_planes(file, jpeg);
  for (size_t c = 0; c < expected.size(); ++c) {
    const JpegPlane& plane = samples.planes.planes[c];
    const int stride = tjPlaneWidth(static_cast<int>(c), jpeg.width, jpeg.subsampling);
    for (int64_t y = 0; y < plane.height; ++y) {
      const uint8_t* row = plane.data + static_cast<size_t>(y) * plane.stride;
      ASSERT_TRUE(std::equal(row, row + plane.width, &expected[c][static_cast<size_t>(y * stride)]))
          << what << ": component " << c << ", row " << y;
    }
  }
}

// Each variant, and once more without its shortcuts.
std::vector<InverseDcts> all_ways() {
  std::vector<InverseDcts> ways;
  for (const InverseDcts& dcts : usable_inverse_dcts()) {
    ways.push_back(dcts);
    ways.push_back({dcts.all, dcts.all, dcts.all});
  }
  return ways;
}

void expect_libjpegs_samples(const File& file, const std::string& what) {
  const std::vector<InverseDcts> ways = all_ways();
  for (size_t i = 0; i < ways.size(); ++i) {
    expect_libjpegs_samples(file, ways[i], what + ", way " + std::to_string(i));
  }
}

TEST(JpegInverseDct, encoded_scenes_of_all_qualities_give_libjpegs_samples) {
  Random random(1);
  for (int quality = 1; quality <= 100; quality += 3) {
    const int width = 16 + static_cast<int>(random.below(65));
    const int height = 16 + static_cast<int>(random.below(65));
    for (int subsampling : {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_GRAY}) {
      const int channels = subsampling == TJSAMP_GRAY ? 1 : 3;
      const File file = encoded(scene(width, height, channels, random), width, height,
                                channels == 1 ? TJPF_GRAY : TJPF_RGB, subsampling, quality);
      const std::string what = "quality " + std::to_string(quality);
      expect_libjpegs_samples(file, what);
    }
  }
}

// Coefficients up to what Huffman coding can hold, in all shapes for which there is a shortcut here
// or in libjpeg-turbo. Times the largest quantisation, products and sums overflow 16 bits.
struct Extremes {
  Random random;
  int16_t value() {
    static constexpr int16_t kLimits[] = {1, 10, 40, 130, 1023};
    const int16_t limit = kLimits[random.below(5)];
    if (random.below(4) == 0) return random.below(2) == 0 ? limit : static_cast<int16_t>(-limit);
    return static_cast<int16_t>(static_cast<int>(random.below(2u * limit + 1)) - limit);
  }
  void operator()(int, int16_t* block) {
    const uint64_t rows = 1 + random.below(8), columns = 1 + random.below(8);
    const uint64_t density = 1 + random.below(4);
    std::fill_n(block, 64, int16_t{0});
    for (uint64_t i = 0; i < 64; ++i) {
      if (i / 8 < rows && i % 8 < columns && random.below(density) == 0) block[i] = value();
    }
  }
};

TEST(JpegInverseDct, coefficients_that_overflow_give_libjpegs_samples) {
  Extremes extremes{Random(2)};
  const File gray = encoded(Pixels(256 * 256, 128), 256, 256, TJPF_GRAY, TJSAMP_GRAY);
  for (size_t round = 0; round < 100; round += stride(4)) {
    for (const uint8_t quantisation : {1, 3, 17, 64, 255}) {
      const File file = with_quantisation(with_blocks(gray, std::ref(extremes)), quantisation);
      const std::string what = "quantisation " + std::to_string(quantisation);
      expect_libjpegs_samples(file, what);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(JpegInverseDct, a_block_writes_its_rows_and_nothing_else) {
  Block block{}, quantisation{};
  std::fill_n(quantisation.values, 64, int16_t{1});
  block.values[0] = 800;
  Pixels expected(8 * 11, 0xa5);
  for (size_t i = 0; i < 64; ++i) expected[i / 8 * 11 + i % 8] = 128 + 100;
  for (const InverseDcts& dcts : usable_inverse_dcts()) {
    for (const InverseDct transform : {dcts.all, dcts.first_ten, dcts.first}) {
      for (const size_t count : {1u, 2u, 3u}) {
        std::vector<Pixels> out(count, Pixels(8 * 11, 0xa5));
        std::vector<DctBlock> blocks;
        for (Pixels& each : out) {
          blocks.push_back({block.values, quantisation.values, each.data(), 11, 8});
        }
        transform(blocks.data(), count);
        for (const Pixels& each : out) EXPECT_EQ(each, expected);
      }
    }
  }
}

}  // namespace
}  // namespace stoker
