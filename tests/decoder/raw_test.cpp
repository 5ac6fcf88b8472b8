#include <gtest/gtest.h>

#include "tests/decoder/images.h"

namespace stoker {
namespace {

constexpr const char* kSmall = "{type: raw, size: 4, width: 4, height: 4}";

File ramp(size_t bytes) {
  File file(bytes);
  for (size_t i = 0; i < bytes; ++i) file[i] = static_cast<uint8_t>(i);
  return file;
}

TEST(Raw, pixels_of_the_samples_size_are_copied) { EXPECT_EQ(decode(kSmall, ramp(48)), ramp(48)); }

TEST(Raw, others_are_resized) {
  const File file(8 * 6 * 3, 99);
  EXPECT_EQ(decode("{type: raw, size: 4, width: 8, height: 6}", file), Pixels(48, 99));
}

// The resizer reads some bytes behind a row: those of a file end with its last one.
TEST(Raw, nothing_behind_the_pixels_is_read) {
  const std::string yaml = "{type: raw, size: 7, width: 4, height: 9, resize: antialias}";
  File file = ramp(4 * 9 * 3);
  file.shrink_to_fit();
  File longer = file;
  longer.resize(file.size() + 64, 255);
  const auto decoder = make_decoder(yaml);
  Pixels one(decoder->spec().bytes()), other(one);
  decoder->open()->decode(file, {}, one.data());
  decoder->open()->decode(Bytes(longer).first(file.size()), {}, other.data());
  EXPECT_EQ(one, other);
}

TEST(Raw, training_samples_are_augmented) {
  const std::string yaml = "{type: raw, size: 4, width: 4, height: 4, augment: {flip: true}}";
  int flipped = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Pixels pixels = decode(yaml, ramp(48), {true, seed});
    flipped += pixels[0] == 9 ? 1 : 0;  // the red of the first row's last pixel
    ASSERT_TRUE(pixels[0] == 0 || pixels[0] == 9);
  }
  EXPECT_GT(flipped, 30);
  EXPECT_LT(flipped, 70);
}

TEST(Raw, a_file_of_another_length_is_a_bad_sample) {
  const std::string kHint = " (raw takes stored pixels, such as those of dataset.type=decoded)";
  EXPECT_EQ(reason_of(kSmall, {}), "empty: 0 bytes where 4x4 RGB pixels are 48 bytes" + kHint);
  EXPECT_EQ(reason_of(kSmall, ramp(47)),
            "truncated: 47 bytes where 4x4 RGB pixels are 48 bytes" + kHint);
  EXPECT_EQ(reason_of(kSmall, ramp(49)),
            "corrupt: 49 bytes where 4x4 RGB pixels are 48 bytes" + kHint);
}

}  // namespace
}  // namespace stoker
