#include "io/decoder/jpeg_header.h"

#include <gtest/gtest.h>

#include "io/core/random.h"
#include "tests/decoder/images.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

File real_file() { return read_file(mini("watch/image_0072.jpg")); }

std::string error_in(const File& file) {
  return error_of([&] { read_jpeg_header(file); });
}

TEST(JpegHeader, sees_of_every_real_file_what_libjpeg_sees) {
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitDecompress(), tjDestroy);
  for (const std::string& path : mini_files()) {
    const File file = read_file(path);
    const JpegHeader header = read_jpeg_header(file);
    int width = 0, height = 0, subsampling = 0, colorspace = 0;
    ASSERT_EQ(tjDecompressHeader3(handle.get(), file.data(), file.size(), &width, &height,
                                  &subsampling, &colorspace),
              0);
    EXPECT_EQ(header.width, width);
    EXPECT_EQ(header.height, height);
    EXPECT_EQ(header.components, colorspace == TJCS_GRAY ? 1 : 3);
    EXPECT_EQ(header.process, JpegProcess::baseline);
    EXPECT_TRUE(header.one_scan);
    const JpegScans scans = count_jpeg_scans(file, header);
    EXPECT_EQ(scans.count, 1);
    EXPECT_TRUE(scans.complete);
  }
}

TEST(JpegHeader, counts_the_scans_of_a_progressive_file) {
  const File file = progressive(real_file());
  const JpegHeader header = read_jpeg_header(file);
  EXPECT_EQ(header.process, JpegProcess::progressive);
  EXPECT_FALSE(header.one_scan);
  EXPECT_EQ(count_jpeg_scans(file, header).count, 10);
}

TEST(JpegHeader, a_file_without_its_end_marker_is_not_complete) {
  File file = real_file();
  const JpegHeader header = read_jpeg_header(file);
  EXPECT_TRUE(count_jpeg_scans(file, header).complete);
  file.erase(file.end() - 2, file.end());
  EXPECT_FALSE(count_jpeg_scans(file, header).complete);
}

TEST(JpegHeader, names_every_process) {
  File file = real_file();
  const size_t frame = find_marker(file, 0xc0);
  const std::pair<int, const char*> kinds[] = {
      {0xc0, "baseline"},     {0xc1, "extended"},    {0xc2, "progressive"}, {0xc3, "lossless"},
      {0xc5, "hierarchical"}, {0xc9, "arithmetic"},  {0xca, "arithmetic"},  {0xcb, "arithmetic"},
      {0xcd, "hierarchical"}, {0xcf, "hierarchical"}};
  for (const auto& [marker, name] : kinds) {
    file[frame + 1] = static_cast<uint8_t>(marker);
    EXPECT_STREQ(to_string(read_jpeg_header(file).process), name);
  }
}

TEST(JpegHeader, reads_the_orientation_in_both_byte_orders) {
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    for (bool big_endian : {false, true}) {
      const File file = with_orientation(real_file(), orientation, big_endian);
      EXPECT_EQ(read_jpeg_header(file).orientation, orientation);
    }
  }
}

// The types of numbers that Pillow turns an image by, and those that it does not. Phones write
// LONG.
TEST(JpegHeader, the_orientation_may_be_of_every_numeric_type) {
  struct Case {
    const char* type;
    TiffField field;
    int orientation = 6;
  };
  const Case little[] = {
      {"SHORT", {3, 1, {6, 0, 0, 0}}},
      {"LONG", {4, 1, {6, 0, 0, 0}}},
      {"SBYTE", {6, 1, {6, 0, 0, 0}}},
      {"SSHORT", {8, 1, {6, 0, 0, 0}}},
      {"SLONG", {9, 1, {6, 0, 0, 0}}},
      {"IFD", {13, 1, {6, 0, 0, 0}}},
      {"FLOAT", {11, 1, {0, 0, 0xc0, 0x40}}},
      {"DOUBLE", {12, 1, {26, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0x18, 0x40}}},
      {"RATIONAL", {5, 1, {26, 0, 0, 0}, {12, 0, 0, 0, 2, 0, 0, 0}}},
      {"SRATIONAL", {10, 1, {26, 0, 0, 0}, {6, 0, 0, 0, 1, 0, 0, 0}}},
      {"LONG8", {16, 1, {26, 0, 0, 0}, {6, 0, 0, 0, 0, 0, 0, 0}}},
      {"two SHORTs", {3, 2, {6, 0, 1, 0}}},
      {"three SHORTs", {3, 3, {26, 0, 0, 0}, {6, 0, 1, 0, 1, 0}}},
      {"BYTE", {1, 1, {6, 0, 0, 0}}, 1},
      {"UNDEFINED", {7, 1, {6, 0, 0, 0}}, 1},
      {"ASCII", {2, 2, {'6', 0, 0, 0}}, 1},
      {"no value", {3, 0, {6, 0, 0, 0}}, 1},
      {"no whole number", {5, 1, {26, 0, 0, 0}, {13, 0, 0, 0, 2, 0, 0, 0}}, 1},
      {"divided by 0", {5, 1, {26, 0, 0, 0}, {6, 0, 0, 0, 0, 0, 0, 0}}, 1},
      {"negative", {8, 1, {0xfa, 0xff, 0, 0}}, 1},
      {"behind the end", {12, 1, {27, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0x18, 0x40}}, 1},
      {"far behind the end", {4, 0xffffffff, {6, 0, 0, 0}}, 1},
  };
  for (const Case& c : little) {
    const File file = with_exif(real_file(), tiff(c.field, false));
    EXPECT_EQ(read_jpeg_header(file).orientation, c.orientation) << c.type;
  }
  const Case big[] = {{"LONG", {4, 1, {0, 0, 0, 6}}},
                      {"SLONG", {9, 1, {0, 0, 0, 6}}},
                      {"FLOAT", {11, 1, {0x40, 0xc0, 0, 0}}},
                      {"RATIONAL", {5, 1, {0, 0, 0, 26}, {0, 0, 0, 6, 0, 0, 0, 1}}}};
  for (const Case& c : big) {
    const File file = with_exif(real_file(), tiff(c.field, true));
    EXPECT_EQ(read_jpeg_header(file).orientation, c.orientation) << c.type;
  }
}

TEST(JpegHeader, the_first_exif_segment_counts) {
  const File file = with_orientation(with_orientation(real_file(), 3), 8);
  EXPECT_EQ(read_jpeg_header(file).orientation, 8);
}

TEST(JpegHeader, says_where_a_header_is_damaged) {
  const File file = real_file();
  const size_t frame = find_marker(file, 0xc0), scan = find_marker(file, 0xda);
  EXPECT_EQ(error_in({}), "the file is empty");
  EXPECT_EQ(error_in({0xff}), "it is of no kind that is known here: it starts with ff");
  EXPECT_EQ(error_in({0xff, 0xd8}), "the file ends inside its JPEG header, after 2 bytes");
  EXPECT_EQ(error_in({0xff, 0xd8, 0x00, 0x11}), "JPEG header: no marker at byte 2");
  EXPECT_EQ(error_in({0xff, 0xd8, 0xff, 0x02}), "JPEG header: marker ff02 at byte 2");
  EXPECT_EQ(error_in({0xff, 0xd8, 0xff, 0xe0, 0, 1}), "JPEG header: segment of length 1 at byte 4");
  EXPECT_EQ(error_in({0xff, 0xd8, 0xff, 0xd9}),
            "JPEG header: the image ends before its first scan");
  EXPECT_EQ(error_in({0xff, 0xd8, 0xff, 0xda, 0, 2}), "JPEG header: a scan without a frame");
  EXPECT_EQ(error_in({0xff, 0xd8, 0xff, 0xc0, 0, 3, 8}), "JPEG header: frame header of 1 bytes");
  EXPECT_EQ(error_in(with_size(file, 0, 200)), "JPEG header: 0x200 pixels of 3 components");
  const File second(file.begin() + static_cast<ptrdiff_t>(frame),
                    file.begin() + static_cast<ptrdiff_t>(frame) + 19);
  EXPECT_EQ(error_in(inserted(file, frame, second)), "JPEG header: two frame headers");
  File empty_scan = file;
  empty_scan[scan + 3] = 2;
  EXPECT_EQ(error_in(empty_scan), "JPEG header: empty scan header");
}

TEST(JpegHeader, garbage_is_read_or_refused) {
  Random random(1);
  int read = 0, refused = 0;
  const File real = with_orientation(progressive(real_file()), 6);
  for (int round = 0; round < 100'000; ++round) {
    File file(real.begin(), real.begin() + static_cast<ptrdiff_t>(random.below(real.size())));
    for (uint64_t changes = random.below(8); changes-- > 0 && !file.empty();) {
      file[random.below(std::min<uint64_t>(file.size(), 400))] =
          static_cast<uint8_t>(random.next());
    }
    const File exact(file);  // no spare capacity that would hide a read behind the end
    try {
      const JpegHeader header = read_jpeg_header(exact);
      EXPECT_GE(header.orientation, 1);
      EXPECT_LE(header.orientation, 8);
      EXPECT_GT(header.width * header.height, 0);
      EXPECT_GE(count_jpeg_scans(exact, header).count, 1);
      ++read;
    } catch (const BadSample&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace stoker
