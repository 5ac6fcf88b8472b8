#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "io/core/random.h"
#include "io/decoder/pixels.h"
#include "tests/decoder/images.h"

namespace stoker {
namespace {

File random_file(size_t bytes) {
  Random random(bytes);
  File file(bytes);
  for (uint8_t& byte : file) byte = static_cast<uint8_t>(random.next());
  return file;
}

TEST(ByteImages, bytes_are_the_levels_of_one_channel) {
  const std::string yaml = "{type: bytes, size: 4, row: 4}";
  EXPECT_EQ(make_decoder(yaml)->spec().channels, 1);
  const File file = random_file(16);
  EXPECT_EQ(decode(yaml, file), file);
}

TEST(ByteImages, what_does_not_fill_a_row_is_left_out) {
  File file = random_file(16);
  const Pixels whole = decode("{type: bytes, size: 4, row: 4}", file);
  file.resize(19, 255);
  EXPECT_EQ(decode("{type: bytes, size: 4, row: 4}", file), whole);
}

TEST(ByteImages, a_file_of_less_than_a_row_is_one_row) {
  EXPECT_EQ(decode("{type: bytes, size: 2, row: 512}", File(3, 77)), Pixels(4, 77));
}

TEST(ByteImages, rows_are_as_long_as_the_files_size_says) {
  // Each row has a level of its own, which a wrong length would mix.
  for (const auto& [bytes, row] : std::vector<std::pair<size_t, size_t>>{
           {9'984, 32}, {10'048, 64}, {150'144, 384}, {999'936, 768}, {1'024'000, 1024}}) {
    File file(bytes);
    for (size_t i = 0; i < bytes; ++i) file[i] = i / row % 2 == 0 ? 0 : 200;
    const std::string height = std::to_string(bytes / row);
    const Pixels pixels = decode("{type: bytes, size: " + height + "}", file);
    for (size_t y = 0; y < bytes / row; ++y) {
      ASSERT_EQ(pixels[y * (bytes / row)], y % 2 == 0 ? 0 : 200) << bytes << " row " << y;
    }
  }
}

// The same image as grey in three channels, through the resizer for colours.
TEST(ByteImages, are_resized_as_colours_are) {
  const size_t width = 61, height = 47;
  const File grey = random_file(width * height);
  File rgb;
  for (const uint8_t level : grey) rgb.insert(rgb.end(), 3, level);
  for (const std::string resize : {"bilinear", "antialias"}) {
    for (const std::string size : {"7", "32", "100"}) {
      const std::string common = ", size: " + size + ", resize: " + resize +
                                 ", augment: {flip: true, random_resized_crop: {}}}";
      for (uint64_t seed = 0; seed < 20; ++seed) {
        const Pixels ours = decode("{type: bytes, row: 61" + common, grey, {true, seed});
        const Pixels colours =
            decode("{type: raw, width: 61, height: 47" + common, rgb, {true, seed});
        ASSERT_EQ(3 * ours.size(), colours.size());
        for (size_t i = 0; i < ours.size(); ++i) {
          ASSERT_NEAR(ours[i], colours[3 * i], 1) << resize << size << " seed " << seed;
        }
      }
    }
  }
}

TEST(ByteImages, float32_is_normalised_to_one) {
  const Pixels out = decode("{type: bytes, size: 2, row: 2, output: float32}", {0, 255, 51, 204});
  std::vector<float> values(4);
  ASSERT_EQ(out.size(), sizeof(float) * values.size());
  std::memcpy(values.data(), out.data(), out.size());
  const std::vector<float> expected{-1, 1, -0.6F, 0.6F};
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6);
}

TEST(ByteImages, bad_samples_say_why) {
  EXPECT_EQ(reason_of("{type: bytes, size: 4}", {}), "empty: the file has no bytes");
  EXPECT_EQ(
      reason_of("{type: bytes, size: 4, limits: {max_bytes: 100}}", File(101, 1)).substr(0, 10),
      "too_large:");
  EXPECT_EQ(reason_of("{type: bytes, size: 4, row: 1, limits: {max_side: 100}}", File(101, 1))
                .substr(0, 10),
            "too_large:");
}

TEST(Discard, a_sample_is_the_first_byte_of_its_file) {
  EXPECT_EQ(decode("{type: discard}", {7, 8, 9}), Pixels{7});
  EXPECT_EQ(reason_of("{type: discard}", {}), "empty: the file has no bytes");
}

}  // namespace
}  // namespace stoker
