#include <gtest/gtest.h>

#include <cstring>

#include "io/core/random.h"
#include "io/jpeg/rgb_rows.h"
#include "tests/decoder/jpeg_blocks.h"
#include "tests/support/short_tests.h"

namespace stoker {
namespace {

const uint8_t* row_of(const Pixels& pixels, int width, int64_t y) {
  return &pixels[static_cast<size_t>(3 * width * y)];
}

void expect_libjpegs_pixels(const File& file, const std::string& what) {
  const JpegBlocks jpeg(file);
  const Samples samples(jpeg);
  const Pixels expected = decoded_rgb(file, jpeg.width, jpeg.height);
  Buffer scratch;
  for (const RgbKernels& kernels : usable_rgb_kernels()) {
    RgbRows rows(kernels, samples.planes, 0, jpeg.width, scratch);
    ASSERT_EQ(rows.width(), jpeg.width);
    ASSERT_EQ(rows.height(), jpeg.height);
    for (int64_t y = 0; y < jpeg.height; ++y) {
      ASSERT_EQ(std::memcmp(rows.row(y), row_of(expected, jpeg.width, y),
                            static_cast<size_t>(3 * jpeg.width)),
                0)
          << what << ": " << jpeg.width << " x " << jpeg.height << ", subsampling "
          << jpeg.subsampling << ", row " << y;
    }
  }
}

File random_file(int width, int height, int subsampling, int quality, Random& random) {
  const bool gray = subsampling == TJSAMP_GRAY;
  random.next();
  return encoded(scene(width, height, gray ? 1 : 3, random), width, height,
                 gray ? TJPF_GRAY : TJPF_RGB, subsampling, quality);
}

constexpr int kSubsamplings[] = {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_GRAY};

TEST(JpegRgbRows, images_of_every_width_and_height_have_libjpegs_pixels) {
  Random random(1);
  for (int subsampling : kSubsamplings) {
    for (int size = 16; size <= 80; ++size) {
      const int other = 16 + static_cast<int>(random.below(65));
      expect_libjpegs_pixels(random_file(size, other, subsampling, 90, random), "width");
      expect_libjpegs_pixels(random_file(other, size, subsampling, 40, random), "height");
    }
  }
}

TEST(JpegRgbRows, images_of_all_qualities_have_libjpegs_pixels) {
  Random random(2);
  for (int subsampling : kSubsamplings) {
    for (int quality = 1; quality <= 100; quality += 4) {
      const int width = 16 + static_cast<int>(random.below(300));
      const int height = 16 + static_cast<int>(random.below(60));
      expect_libjpegs_pixels(random_file(width, height, subsampling, quality, random),
                             "quality " + std::to_string(quality));
    }
  }
}

TEST(JpegRgbRows, the_shipped_files_have_libjpegs_pixels) {
  const std::vector<std::string> paths = mini_files();
  for (size_t i = 0; i < paths.size(); i += stride(11)) {
    expect_libjpegs_pixels(read_file(paths[i]), paths[i]);
  }
}

TEST(JpegRgbRows, columns_of_a_crop_are_those_of_the_whole) {
  Random random(3);
  for (int subsampling : kSubsamplings) {
    for (int round = 0; round < 60; ++round) {
      const int width = 16 + static_cast<int>(random.below(300));
      const JpegBlocks jpeg(random_file(width, 24, subsampling, 80, random));
      const Samples samples(jpeg);
      Buffer scratch, crop_scratch;
      RgbRows whole(avx2_rgb_kernels(), samples.planes, 0, width, scratch);
      const auto first = static_cast<int64_t>(random.below(static_cast<uint64_t>(width)));
      const auto columns =
          1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(width - first)));
      RgbRows crop(best_rgb_kernels(), samples.planes, first, columns, crop_scratch);
      for (int64_t y = 0; y < 24; ++y) {
        ASSERT_EQ(std::memcmp(crop.row(y) + 3 * first, whole.row(y) + 3 * first,
                              static_cast<size_t>(3 * columns)),
                  0)
            << "columns " << first << " + " << columns << " of " << width << ", row " << y;
      }
    }
  }
}

TEST(JpegRgbRows, rows_may_be_skipped_and_asked_for_again) {
  Random random(4);
  for (int subsampling : kSubsamplings) {
    const File file = random_file(100, 90, subsampling, 80, random);
    const JpegBlocks jpeg(file);
    const Samples samples(jpeg);
    const Pixels expected = decoded_rgb(file, 100, 90);
    Buffer scratch;
    RgbRows rows(best_rgb_kernels(), samples.planes, 0, 100, scratch);
    for (int64_t y = 0; y < 90; y += static_cast<int64_t>(random.below(5))) {
      ASSERT_EQ(std::memcmp(rows.row(y), row_of(expected, 100, y), 300), 0) << "row " << y;
    }
  }
}

// What jdcolor.c's tables hold.
int clamped(int value) { return std::clamp(value, 0, 255); }
int red(int y, int cr) { return clamped(y + ((91881 * (cr - 128) + 32768) >> 16)); }
int blue(int y, int cb) { return clamped(y + ((116130 * (cb - 128) + 32768) >> 16)); }
int green(int y, int cb, int cr) {
  return clamped(y + ((-22554 * (cb - 128) - 46802 * (cr - 128) + 32768) >> 16));
}

class JpegColours : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(by_variant, JpegColours,
                         testing::Range(size_t{0}, usable_rgb_kernels().size()));

TEST_P(JpegColours, are_those_of_libjpegs_tables) {
  std::vector<uint8_t> luma(256 + RgbRows::kPlaneSlack), cb(1 + 256 + RgbRows::kPlaneSlack), cr(cb);
  for (size_t i = 0; i < 256; ++i) luma[i] = static_cast<uint8_t>(i);
  JpegPlanes planes{ChromaSampling::s444, 256, 1, {}};
  planes.planes = {JpegPlane{luma.data(), 256, 256, 1}, JpegPlane{cb.data() + 1, 256, 256, 1},
                   JpegPlane{cr.data() + 1, 256, 256, 1}};
  const RgbKernels kernels = usable_rgb_kernels()[GetParam()];
  Buffer scratch;
  for (int color = 0; color < 256 * 256; ++color) {
    const int b = color / 256, r = color % 256;
    std::fill(cb.begin(), cb.end(), static_cast<uint8_t>(b));
    std::fill(cr.begin(), cr.end(), static_cast<uint8_t>(r));
    const uint8_t* rgb = RgbRows(kernels, planes, 0, 256, scratch).row(0);
    bool same = true;
    for (int y = 0; y < 256; ++y, rgb += 3) {
      same &= rgb[0] == red(y, r) && rgb[1] == green(y, b, r) && rgb[2] == blue(y, b);
    }
    ASSERT_TRUE(same) << "Cb " << b << ", Cr " << r;
  }
}

}  // namespace
}  // namespace stoker
