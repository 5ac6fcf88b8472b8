#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "io/core/random.h"
#include "io/dataset/fetch.h"
#include "io/decoder/jpeg/baseline_decoder.h"
#include "io/decoder/jpeg_codec.h"
#include "tests/decoder/images.h"
#include "tests/support/datasets.h"
#include "tests/support/stride.h"
#include "tests/support/temporary_directory.h"

// The fast decoder against libjpeg-turbo: the same pixels, byte for byte.

namespace stoker {
namespace {

class Jpeg : public testing::Test {
 protected:
  Jpeg() : fast_(BaselineDecoder::create()) {}
  void SetUp() override { ASSERT_TRUE(fast_) << "this machine has no AVX2: nothing is tested"; }

  static Pixels reference(const File& file) {
    JpegCodec codec;
    const JpegHeader header = read_jpeg_header(file);
    Pixels pixels(static_cast<size_t>(header.width * header.height * 3));
    codec.decode(file, header, header.width, header.height, pixels.data());
    return pixels;
  }

  // How many of the needed rows differ; empty: it gave up.
  std::optional<int64_t> wrong_rows(const File& file, const Pixels& expected, const Rect& needed) {
    const JpegHeader header = read_jpeg_header(file, &segments_);
    PixelRows* rows = fast_->decode(file, header, segments_, needed);
    if (rows == nullptr) return std::nullopt;
    EXPECT_EQ(rows->width(), header.width);
    EXPECT_EQ(rows->height(), header.height);
    int64_t wrong = 0;
    for (int64_t y = needed.y; y < needed.y + needed.height; ++y) {
      const auto at = static_cast<size_t>(y * header.width + needed.x) * 3;
      wrong += std::memcmp(rows->row(y) + needed.x * 3, expected.data() + at,
                           static_cast<size_t>(needed.width) * 3) != 0;
    }
    return wrong;
  }
  std::optional<int64_t> wrong_rows(const File& file) {
    const JpegHeader header = read_jpeg_header(file);
    return wrong_rows(file, reference(file), {0, 0, header.width, header.height});
  }

  std::unique_ptr<BaselineDecoder> fast_;
  std::vector<JpegSegment> segments_;
  Random random_{1};
};

// Something of everything: a gradient, an edge, noise of any strength.
Pixels picture(Random& random, int width, int height, int channels) {
  Pixels pixels;
  const uint64_t noise = 1 + random.below(256);
  const int edge = static_cast<int>(random.below(static_cast<uint64_t>(width)));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int value = (x * (c + 1) + y * 2) % 200 + (x > edge ? 60 * c : 0);
        pixels.push_back(static_cast<uint8_t>(value + static_cast<int>(random.below(noise))));
      }
    }
  }
  return pixels;
}

// libjpeg-turbo takes some settings from the environment only.
class CompressorSetting {
 public:
  CompressorSetting(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~CompressorSetting() { ::unsetenv(name_); }

 private:
  const char* name_;
};

constexpr int kSamplings[] = {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_GRAY};

File compressed_noise(Random& random, int sampling, int width, int height, int quality) {
  const int format = sampling == TJSAMP_GRAY ? TJPF_GRAY : TJPF_RGB;
  const Pixels pixels = picture(random, width, height, sampling == TJSAMP_GRAY ? 1 : 3);
  return encoded(pixels, width, height, format, sampling, quality);
}

TEST_F(Jpeg, all_shipped_files_have_the_pixels_of_libjpeg) {
  for (const std::string& path : mini_files()) EXPECT_EQ(wrong_rows(read_file(path)), 0) << path;
}

TEST_F(Jpeg, every_sampling_and_quality_has_the_pixels_of_libjpeg) {
  for (const int sampling : kSamplings) {
    for (int quality = 1; quality <= 100; quality += static_cast<int>(stride(1))) {
      const int width = 16 + static_cast<int>(random_.below(80));
      const int height = 1 + static_cast<int>(random_.below(80));
      const File file = compressed_noise(random_, sampling, width, height, quality);
      EXPECT_EQ(wrong_rows(file), 0) << sampling << " " << quality << " " << width << "x" << height;
    }
  }
}

TEST_F(Jpeg, every_size_has_the_pixels_of_libjpeg_or_is_too_narrow) {
  for (const int sampling : kSamplings) {
    for (int size = 1; size <= 70; ++size) {
      for (const auto& [width, height] : {std::pair{size, 23}, {33, size}}) {
        const File file = compressed_noise(random_, sampling, width, height, 90);
        const std::optional<int64_t> expected =
            width < 16 ? std::nullopt : std::optional<int64_t>(0);
        EXPECT_EQ(wrong_rows(file), expected) << sampling << " " << width << "x" << height;
      }
    }
  }
}

TEST_F(Jpeg, files_with_tables_of_their_own_have_the_pixels_of_libjpeg) {
  const CompressorSetting optimize("TJ_OPTIMIZE", "1");
  const File other = read_file(mini("watch/image_0072.jpg"));
  for (size_t i = 0; i < 200; i += stride(1)) {
    const int quality = 1 + static_cast<int>(random_.below(100));
    const File own = compressed_noise(random_, kSamplings[i % 4], 96, 64, quality);
    ASSERT_EQ(wrong_rows(own), 0) << i << " quality " << quality;
    ASSERT_EQ(wrong_rows(other), 0) << i;
  }
}

TEST_F(Jpeg, files_with_restart_markers_have_the_pixels_of_libjpeg) {
  for (const char* interval : {"1B", "2B", "3B", "7B", "8B", "50B", "1", "2"}) {
    const CompressorSetting restart("TJ_RESTART", interval);
    for (const int sampling : kSamplings) {
      const File file = compressed_noise(random_, sampling, 200, 150, 80);
      ASSERT_NO_THROW(find_marker(file, 0xdd));
      EXPECT_EQ(wrong_rows(file), 0) << interval << " " << sampling;
    }
  }
}

TEST_F(Jpeg, a_part_has_the_pixels_of_the_whole) {
  const std::vector<std::string> paths = mini_files();
  for (size_t i = 0; i < 200; i += stride(1)) {
    File file = i % 2 == 0 ? read_file(paths[random_.below(paths.size())])
                           : compressed_noise(random_, kSamplings[i / 2 % 4], 77, 99, 85);
    const Pixels expected = reference(file);
    const JpegHeader header = read_jpeg_header(file);
    for (int j = 0; j < 10; ++j) {
      Rect part;
      part.x = static_cast<int64_t>(random_.below(static_cast<uint64_t>(header.width)));
      part.y = static_cast<int64_t>(random_.below(static_cast<uint64_t>(header.height)));
      part.width =
          1 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(header.width - part.x)));
      part.height =
          1 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(header.height - part.y)));
      ASSERT_EQ(wrong_rows(file, expected, part), 0)
          << i << ": " << part.x << " " << part.y << " " << part.width << " " << part.height;
    }
  }
}

TEST_F(Jpeg, files_that_it_does_not_know_are_left_to_libjpeg) {
  const File plain = read_file(mini("watch/image_0072.jpg"));
  const Pixels pixels = picture(random_, 64, 64, 3);
  EXPECT_EQ(wrong_rows(progressive(plain)), std::nullopt);
  EXPECT_EQ(wrong_rows(encoded(pixels, 64, 64, TJPF_RGB, TJSAMP_440)), std::nullopt);
  EXPECT_EQ(wrong_rows(encoded(pixels, 64, 64, TJPF_RGB, TJSAMP_411)), std::nullopt);
  EXPECT_EQ(wrong_rows(encoded(picture(random_, 64, 64, 4), 64, 64, TJPF_CMYK, TJSAMP_444)),
            std::nullopt);
  EXPECT_EQ(
      wrong_rows(read_file(std::string(STOKER_SOURCE_DIR) + "/tests/decoder/data/arithmetic.jpg")),
      std::nullopt);
}

// Exists where the archive does.
struct WholeCaltech101 : Jpeg, testing::WithParamInterface<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WholeCaltech101);

std::vector<std::string> archives() {
  const char* archive = std::getenv("STOKER_CALTECH101");
  return archive == nullptr || *archive == '\0' ? std::vector<std::string>{}
                                                : std::vector<std::string>{archive};
}
INSTANTIATE_TEST_SUITE_P(from, WholeCaltech101, testing::ValuesIn(archives()),
                         [](const auto&) { return "the_archive"; });

TEST_P(WholeCaltech101, its_files_have_the_pixels_of_libjpeg) {
  TemporaryDirectory root;
  TestDataset data(posix_storage(root.path()));
  const Dataset& whole = data.build("{type: image_folder, storage: data, fetch: caltech101}");
  ASSERT_EQ(whole.size(Split::train), 9144);
  for (int64_t i = 0; i < 9144; i += static_cast<int64_t>(stride(3))) {
    const std::string bytes = read_sample(whole, Split::train, i);
    EXPECT_EQ(wrong_rows(File(bytes.begin(), bytes.end())), 0) << whole.info(Split::train, i).key;
  }
}

}  // namespace
}  // namespace stoker
