#include "io/loader/lmdbio/database/datum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "io/core/error.h"

namespace stoker {
namespace {

Bytes bytes_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
Datum datum_in(const std::string& text) { return read_datum(bytes_in(text)); }

// The image of a Datum, or why there is none.
std::string image_in(const std::string& text) {
  Buffer buffer;
  std::ranges::copy(text, buffer.resize(text.size()));
  try {
    const Bytes image = datum_image(buffer);
    return {image.begin(), image.end()};
  } catch (const BadSample& error) {
    return std::string(to_string(error.reason())) + ": " + error.what();
  }
}

// channels, height, width as protobuf writes them.
std::string sides(char channels, char height, char width) {
  return {8, channels, 16, height, 24, width};
}
std::string data_field(const std::string& bytes) {
  return "\x22" + std::string(1, static_cast<char>(bytes.size())) + bytes;
}

TEST(Datum, pixels_are_planes_of_blue_green_and_red_and_read_back_as_rows) {
  const std::string rows = "abcdefghijklmnopqr";  // 2 x 3 of RGB
  const std::string datum = pixel_datum(bytes_in(rows), SampleSpec{2, 3}, 300);
  const Datum read = datum_in(datum);
  EXPECT_EQ(read.channels, 3);
  EXPECT_EQ(read.height, 2);
  EXPECT_EQ(read.width, 3);
  EXPECT_EQ(read.label, 300);
  EXPECT_FALSE(read.encoded);
  EXPECT_EQ(datum.substr(read.data_offset, read.data_bytes), "cfilorbehknqadgjmp");
  EXPECT_EQ(image_in(datum), rows);
}

TEST(Datum, an_image_file_and_its_label_are_read_as_they_were_written) {
  for (const int32_t label : {0, 1, 127, 128, 999, 2'147'483'647}) {
    const std::string image(1000, 'x');
    const std::string written = encoded_datum(bytes_in(image), label);
    const Datum datum = datum_in(written);
    EXPECT_EQ(datum.label, label);
    EXPECT_TRUE(datum.encoded);
    EXPECT_EQ(datum.data_bytes, image.size());
    EXPECT_EQ(image_in(written), image);
    EXPECT_TRUE(begins_as_datum(bytes_in(written)));
  }
}

TEST(Datum, the_ends_of_a_value_are_enough) {
  const std::string written =
      sides(3, 100, 100) + encoded_datum(bytes_in(std::string(9999, 'x')), 7);
  const Bytes all = bytes_in(written);
  const auto datum = read_datum({all.first(20), all.last(10), all.size()});
  ASSERT_TRUE(datum);
  EXPECT_EQ(datum->label, 7);
  EXPECT_EQ(datum->height, 100);
  // Of fields in another order they may not be: data that are last.
  const std::string other = std::string("\x28\x07") + data_field(std::string(100, 'x')) +
                            data_field("y") + std::string("\x38\x01");
  const Bytes some = bytes_in(other);
  EXPECT_FALSE(read_datum({some.first(10), some.last(2), some.size()}));
  EXPECT_EQ(image_in(other), "y");
}

TEST(Datum, planes_of_blue_green_and_red_become_rows_of_red_green_and_blue) {
  EXPECT_EQ(image_in(sides(3, 1, 2) + data_field("bBgGrR")), "rgbRGB");
  EXPECT_EQ(image_in(sides(1, 2, 1) + data_field("aA")), "aaaAAA");
}

TEST(Datum, fields_that_nobody_knows_are_passed_over) {
  const std::string unknown =
      std::string("\x48\x05\x51") + "12345678" + "\x5d" + "1234" + "\x62\x03" + "abc";
  EXPECT_EQ(image_in(sides(1, 1, 1) + unknown + data_field("v") + unknown), "vvv");
}

TEST(Datum, what_no_decoder_takes_is_a_bad_sample) {
  EXPECT_EQ(image_in(sides(1, 1, 1) + std::string("\x35\0\0\x80\x3f", 5)),
            "unsupported: its pixels are floats (float_data)");
  EXPECT_EQ(image_in(sides(4, 1, 1) + data_field("rgba")),
            "unsupported: its pixels have 4 channels, not 3 or 1");
  EXPECT_EQ(image_in(sides(3, 1, 2) + data_field("rgb")),
            "corrupt: it has 3 bytes of pixels, and says 3 x 1 x 2");
  EXPECT_EQ(image_in(sides(3, 0, 0)), "corrupt: it has 0 bytes of pixels, and says 3 x 0 x 0");
}

TEST(Datum, damage_is_a_bad_sample) {
  EXPECT_EQ(image_in("\x22\x05"
                     "abc"),
            "corrupt: it is no Datum: a field ends behind its end");
  EXPECT_EQ(image_in("\x22"), "corrupt: it is no Datum: it ends in the middle of a field");
  EXPECT_EQ(image_in(std::string(11, '\xff')), "corrupt: it is no Datum: a number has no end");
  EXPECT_EQ(image_in("\x0b"), "corrupt: it is no Datum: a field is of no known type");
}

TEST(Datum, image_files_and_numbers_do_not_begin_as_one) {
  for (const std::string begin :
       {"\xff\xd8\xff", "\x89PNG", "RIFF", "BM", "GIF8", "II*", "MM", "2", "20000", "8"}) {
    EXPECT_FALSE(begins_as_datum(bytes_in(begin))) << begin;
  }
  EXPECT_FALSE(begins_as_datum({}));
}

}  // namespace
}  // namespace stoker
