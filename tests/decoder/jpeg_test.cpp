#include <gtest/gtest.h>

#include "io/dataset/fetch.h"
#include "io/jpeg/decoders.h"
#include "tests/decoder/jpeg_blocks.h"
#include "tests/decoder/jpeg_pixels.h"
#include "tests/support/datasets.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

// The fast decoder against libjpeg-turbo: the same pixels, byte for byte.

namespace stoker {
namespace {

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

class Jpeg : public PixelsOfLibjpeg<BaselineDecoder> {
 protected:
  File compressed_noise(int sampling, int width, int height, int quality) {
    const int format = sampling == TJSAMP_GRAY ? TJPF_GRAY : TJPF_RGB;
    const Pixels pixels = picture(width, height, sampling == TJSAMP_GRAY ? 1 : 3);
    return encoded(pixels, width, height, format, sampling, quality);
  }
};

TEST_F(Jpeg, all_shipped_files_have_the_pixels_of_libjpeg) {
  for (const std::string& path : mini_files()) EXPECT_EQ(wrong_rows(read_file(path)), 0) << path;
}

TEST_F(Jpeg, every_sampling_and_quality_has_the_pixels_of_libjpeg) {
  for (const int sampling : kSamplings) {
    for (int quality = 1; quality <= 100; quality += static_cast<int>(stride(1))) {
      const int width = 16 + static_cast<int>(random_.below(80));
      const int height = 1 + static_cast<int>(random_.below(80));
      const File file = compressed_noise(sampling, width, height, quality);
      EXPECT_EQ(wrong_rows(file), 0) << sampling << " " << quality << " " << width << "x" << height;
    }
  }
}

TEST_F(Jpeg, every_size_has_the_pixels_of_libjpeg_or_is_too_narrow) {
  for (const int sampling : kSamplings) {
    for (int size = 1; size <= 70; ++size) {
      for (const auto& [width, height] : {std::pair{size, 23}, {33, size}}) {
        const File file = compressed_noise(sampling, width, height, 90);
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
    const File own = compressed_noise(kSamplings[i % 4], 96, 64, quality);
    ASSERT_EQ(wrong_rows(own), 0) << i << " quality " << quality;
    ASSERT_EQ(wrong_rows(other), 0) << i;
  }
}

TEST_F(Jpeg, files_with_restart_markers_have_the_pixels_of_libjpeg) {
  for (const char* interval : {"1B", "2B", "3B", "7B", "8B", "50B", "1", "2"}) {
    const CompressorSetting restart("TJ_RESTART", interval);
    for (const int sampling : kSamplings) {
      const File file = compressed_noise(sampling, 200, 150, 80);
      ASSERT_NO_THROW(find_marker(file, 0xdd));
      EXPECT_EQ(wrong_rows(file), 0) << interval << " " << sampling;
    }
  }
}

TEST_F(Jpeg, a_reduced_size_has_the_pixels_of_libjpeg) {
  for (const int sampling : kSamplings) {
    for (const int reduction : {2, 4, 8}) {
      for (int quality = 1; quality <= 100; quality += 3 * static_cast<int>(stride(1))) {
        const CompressorSetting restart("TJ_RESTART", quality % 2 == 0 ? "0" : "7B");
        const int width = 16 * reduction + any(0, 70), height = any(1, 100);
        const File file = compressed_noise(sampling, width, height, quality);
        const std::optional<int64_t> expected =
            sampling == TJSAMP_422 ? std::nullopt : std::optional<int64_t>(0);
        ASSERT_EQ(wrong_rows(file, reduction), expected)
            << sampling << " 1/" << reduction << " " << quality << " " << width << "x" << height;
      }
    }
  }
}

TEST_F(Jpeg, shipped_files_of_a_reduced_size_have_the_pixels_of_libjpeg) {
  const std::vector<std::string> paths = mini_files();
  for (size_t i = 0; i < paths.size(); i += 4 * stride(1)) {
    for (const int reduction : {2, 4, 8}) {
      EXPECT_EQ(wrong_rows(read_file(paths[i]), reduction), 0) << paths[i] << " 1/" << reduction;
    }
  }
}

TEST_F(Jpeg, a_part_has_the_pixels_of_the_whole) {
  const std::vector<std::string> paths = mini_files();
  for (size_t i = 0; i < 200; i += stride(1)) {
    const int sampling = kSamplings[i / 2 % 4];
    const File file = i % 2 == 0 ? read_file(paths[random_.below(paths.size())])
                                 : compressed_noise(sampling, 141, 99, 85);
    const int64_t reduction = i % 2 == 1 && sampling == TJSAMP_422 ? 1 : int64_t{1} << i / 3 % 4;
    const Pixels expected = reference(file, reduction);
    for (int j = 0; j < 10; ++j) {
      const Rect part = any_part(read_jpeg_header(file));
      ASSERT_EQ(wrong_rows(file, expected, part, reduction), 0)
          << i << ": " << part.x << " " << part.y << " " << part.width << " " << part.height;
    }
  }
}

// Where libjpeg-turbo's vector code might overflow, nobody knows what it makes.
TEST_F(Jpeg, large_coefficients_of_a_reduced_size_are_left_to_libjpeg) {
  const File file = compressed_noise(TJSAMP_420, 160, 120, 30);
  EXPECT_EQ(wrong_rows(file, 2), 0);
  EXPECT_EQ(wrong_rows(with_quantisation(file, 255), 1), 0);
  EXPECT_EQ(wrong_rows(with_quantisation(file, 255), 2), std::nullopt);
}

TEST_F(Jpeg, files_that_it_does_not_know_are_left_to_libjpeg) {
  const File plain = read_file(mini("watch/image_0072.jpg"));
  const Pixels pixels = picture(64, 64, 3);
  EXPECT_EQ(wrong_rows(progressive(plain)), std::nullopt);
  EXPECT_EQ(wrong_rows(encoded(pixels, 64, 64, TJPF_RGB, TJSAMP_440)), std::nullopt);
  EXPECT_EQ(wrong_rows(encoded(pixels, 64, 64, TJPF_RGB, TJSAMP_411)), std::nullopt);
  EXPECT_EQ(wrong_rows(encoded(picture(64, 64, 4), 64, 64, TJPF_CMYK, TJSAMP_444)), std::nullopt);
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
