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

std::string raw_takes(const std::string& more, const std::vector<StoredArray>& arrays) {
  const Node node = parse_yaml("{type: raw, height: 4, width: 6" + more + "}", "test.yaml");
  return parse_component<Decoder>(node).info().arrays(arrays);
}

TEST(Raw, planes_of_colours_become_rows) {
  File planes(4 * 6 * 3), rows(planes.size());
  for (size_t i = 0; i < 24; ++i) {
    for (size_t colour = 0; colour < 3; ++colour) {
      planes[colour * 24 + i] = rows[3 * i + colour] = static_cast<uint8_t>(50 * colour + i);
    }
  }
  for (const std::string more : {", size: 4", ", size: 7, resize: antialias"}) {
    const std::string yaml = "{type: raw, height: 4, width: 6" + more;
    EXPECT_EQ(decode(yaml + ", layout: nchw}", planes), decode(yaml + "}", rows));
    EXPECT_EQ(decode(yaml + ", layout: nhwc}", rows), decode(yaml + "}", rows));
  }
}

TEST(Raw, arrays_of_another_shape_or_type_are_refused_with_what_to_set) {
  const std::string takes = "takes 4 x 6 x 3 uint8: ";
  EXPECT_EQ(raw_takes("", {{"uint8", {4, 6, 3}}}), "");
  EXPECT_EQ(raw_takes("", {{"uint8", {1, 4, 6, 3}}}), "");
  EXPECT_EQ(raw_takes("", {{"uint8", {3, 4, 6}}}),
            takes + "set decoder.height=4 decoder.width=6 decoder.layout=nchw");
  EXPECT_EQ(raw_takes("", {{"uint8", {32, 64, 3}}}),
            takes + "set decoder.height=32 decoder.width=64");
  EXPECT_EQ(raw_takes("", {{"float32", {4, 6, 3}}}),
            takes + "write them anew as whole levels from 0 to 255 (uint8)");
  EXPECT_EQ(raw_takes("", {{"int8", {4, 6, 3}}}), raw_takes("", {{"uint16", {4, 6, 3}}}));
  const std::string channels =
      takes + "write them anew with three channels, which are the same for grey images";
  EXPECT_EQ(raw_takes("", {{"uint8", {4, 6}}}), channels);
  EXPECT_EQ(raw_takes("", {{"uint8", {4, 6, 4}}}), channels);
  EXPECT_EQ(raw_takes("", {{"uint8", {4, 6, 3}}, {"uint8", {4, 6}}}),
            takes + "let nothing follow the images");
}

TEST(Raw, arrays_without_a_place_for_colours_need_the_option_that_says_it) {
  const std::string which =
      "takes 4 x 6 x 3 uint8: set decoder.layout=nhwc if the three colours of a pixel lie side by "
      "side, or decoder.layout=nchw for a plane of each colour, as in CIFAR";
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{72}, {3, 24}, {4, 18}}) {
    EXPECT_EQ(raw_takes("", {{"uint8", shape}}), which);
    EXPECT_EQ(raw_takes(", layout: nchw", {{"uint8", shape}}), "");
    EXPECT_EQ(raw_takes(", layout: nhwc", {{"uint8", shape}}), "");
  }
  EXPECT_EQ(raw_takes("", {{"uint8", {3072}}}),
            "takes 4 x 6 x 3 uint8: set decoder.height and decoder.width to what they are");
}

}  // namespace
}  // namespace stoker
