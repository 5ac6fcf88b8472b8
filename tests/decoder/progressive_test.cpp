#include <gtest/gtest.h>

#include "io/jpeg/decoders.h"
#include "tests/decoder/jpeg_pixels.h"
#include "tests/decoder/jpeg_scripts.h"
#include "tests/support/short_tests.h"

// The fast decoder of progressive files against libjpeg-turbo: the same pixels, byte for byte.

namespace stoker {
namespace {

class Progressive : public PixelsOfLibjpeg<ProgressiveDecoder> {
 protected:
  File made(const ScriptedJpeg& wanted) {
    return encoded(wanted, picture(wanted.width, wanted.height, wanted.components));
  }
};

// Of all samplings that it knows.
std::vector<ScriptedJpeg> sampled_kinds() {
  std::vector<ScriptedJpeg> result;
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
    ScriptedJpeg kind;
    kind.luma_h = h, kind.luma_v = v;
    result.push_back(kind);
  }
  ScriptedJpeg gray;
  gray.components = gray.luma_h = gray.luma_v = 1;
  result.push_back(gray);
  return result;
}

TEST_F(Progressive, shipped_files_have_the_pixels_of_libjpeg) {
  const std::vector<std::string> paths = mini_files();
  for (size_t i = 0; i < paths.size(); i += 25) {
    EXPECT_EQ(wrong_rows(progressive(read_file(paths[i]))), 0) << paths[i];
  }
}

TEST_F(Progressive, every_script_and_sampling_has_the_pixels_of_libjpeg) {
  for (ScriptedJpeg kind : sampled_kinds()) {
    const std::vector<ScanScript> scripts = scan_scripts(kind.components);
    for (size_t i = 0; i < scripts.size(); ++i) {
      kind.scans = scripts[i];
      for (int quality = 10; quality <= 100; quality += 10 * static_cast<int>(stride(1))) {
        kind.width = any(16, 100), kind.height = any(1, 90), kind.quality = quality;
        ASSERT_EQ(wrong_rows(made(kind)), 0)
            << kind.luma_h << kind.luma_v << " script " << i << " quality " << quality;
      }
    }
  }
}

TEST_F(Progressive, every_size_has_the_pixels_of_libjpeg_or_is_too_narrow) {
  for (ScriptedJpeg kind : sampled_kinds()) {
    for (int size = 1; size <= 50; ++size) {
      for (const auto& [width, height] : {std::pair{size, 23}, {33, size}}) {
        kind.width = width, kind.height = height;
        const std::optional<int64_t> expected =
            width < 16 ? std::nullopt : std::optional<int64_t>(0);
        ASSERT_EQ(wrong_rows(made(kind)), expected)
            << kind.luma_h << kind.luma_v << " " << width << "x" << height;
      }
    }
  }
}

TEST_F(Progressive, files_with_restart_markers_have_the_pixels_of_libjpeg) {
  for (ScriptedJpeg kind : sampled_kinds()) {
    for (const ScanScript& script : scan_scripts(kind.components)) {
      for (const unsigned interval : {1u, 2u, 7u, 16u, 17u, 60u}) {
        kind.scans = script, kind.restart_mcus = interval;
        kind.width = any(16, 150), kind.height = any(8, 90);
        const File file = made(kind);
        ASSERT_NO_THROW(find_marker(file, 0xdd));
        ASSERT_EQ(wrong_rows(file), 0) << kind.luma_h << kind.luma_v << " " << interval;
      }
    }
  }
}

TEST_F(Progressive, a_part_has_the_pixels_of_the_whole) {
  for (ScriptedJpeg kind : sampled_kinds()) {
    for (size_t i = 0; i < 12; i += stride(1)) {
      const int64_t reduction = kind.luma_h == kind.luma_v ? int64_t{1} << i % 4 : 1;
      kind.width = any(128, 300), kind.height = any(1, 150);
      kind.restart_mcus = i % 3 == 0 ? 5 : 0;
      const File file = made(kind);
      const Pixels expected = reference(file, reduction);
      for (int j = 0; j < 8; ++j) {
        const Rect part = any_part(read_jpeg_header(file));
        ASSERT_EQ(wrong_rows(file, expected, part, reduction), 0)
            << part.x << " " << part.y << " " << part.width << " " << part.height;
      }
    }
  }
}

TEST_F(Progressive, a_reduced_size_has_the_pixels_of_libjpeg) {
  for (ScriptedJpeg kind : sampled_kinds()) {
    for (const int reduction : {2, 4, 8}) {
      for (int quality = 1; quality <= 100; quality += 9 * static_cast<int>(stride(1))) {
        kind.width = 16 * reduction + any(0, 40), kind.height = any(1, 90), kind.quality = quality;
        const std::optional<int64_t> expected =
            kind.luma_h != kind.luma_v ? std::nullopt : std::optional<int64_t>(0);
        ASSERT_EQ(wrong_rows(made(kind), reduction), expected)
            << kind.luma_h << kind.luma_v << " 1/" << reduction << " quality " << quality;
      }
    }
  }
}

TEST_F(Progressive, files_that_it_does_not_know_are_left_to_libjpeg) {
  ScriptedJpeg kind;
  kind.width = 64, kind.height = 48;
  EXPECT_EQ(wrong_rows(made(kind)), 0);
  ScriptedJpeg tall = kind;
  tall.luma_h = 1;
  EXPECT_EQ(wrong_rows(made(tall)), std::nullopt);
  EXPECT_EQ(wrong_rows(read_file(mini("watch/image_0072.jpg"))), std::nullopt);
  // What is not sent to the last bit is smoothed.
  ScriptedJpeg without_bits = kind;
  without_bits.scans = {dc_scan({0, 1, 2}, 0, 1)};
  for (int c = 0; c < 3; ++c) without_bits.scans.push_back(ac_scan(c, 1, 63, 0, 0));
  EXPECT_EQ(wrong_rows(made(without_bits)), std::nullopt);
  ScriptedJpeg without_band = kind;
  without_band.scans = {dc_scan({0, 1, 2}, 0, 0), ac_scan(0, 1, 63, 0, 0), ac_scan(1, 1, 62, 0, 0),
                        ac_scan(2, 1, 63, 0, 0)};
  EXPECT_EQ(wrong_rows(made(without_band)), std::nullopt);
}

TEST_F(Progressive, a_comment_between_scans_is_left_to_libjpeg) {
  ScriptedJpeg kind;
  kind.width = kind.height = 40;
  const File file = made(kind);
  const File scan{0xff, 0xda};
  const auto second = std::find_end(file.begin(), file.end(), scan.begin(), scan.end());
  ASSERT_NE(second, file.end());
  const File comment{0xff, 0xfe, 0, 3, 'x'};
  const File with = inserted(file, static_cast<size_t>(second - file.begin()), comment);
  EXPECT_EQ(wrong_rows(with), std::nullopt);
  EXPECT_TRUE(reference(with) == reference(file));
}

}  // namespace
}  // namespace stoker
