#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "io/core/config/plugin.h"
#include "io/core/random.h"
#include "tests/decoder/images.h"

namespace stoker {
namespace {

class OpenCv : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    load_plugin(std::string(STOKER_PLUGIN_DIR) + "/stoker_opencv.so");
  }

  // A photograph in another format, without loss where the format can.
  static File as(const std::string& extension) {
    const cv::Mat image = cv::imread(mini("airplanes/image_0001.jpg"), cv::IMREAD_COLOR);
    File file;
    cv::imencode(extension, image, file);
    return file;
  }
  static Pixels as_jpeg(const std::string& options = "") {
    return decode("{type: turbojpeg, size: 96, scaled_decode: false" + options + "}",
                  read_file(mini("airplanes/image_0001.jpg")));
  }
};

// PNG: after IHDR (8 + 25 bytes). libpng leaves out a chunk that no pixel depends on where its
// checksum is wrong.
File png_with_orientation(const File& file, uint8_t orientation) {
  const File exif = tiff(orientation, true);
  File chunk{0, 0, 0, static_cast<uint8_t>(exif.size()), 'e', 'X', 'I', 'f'};
  chunk.insert(chunk.end(), exif.begin(), exif.end());
  for (const int byte : {0, 0, 0, 0}) chunk.push_back(static_cast<uint8_t>(byte));
  return inserted(file, 33, chunk);
}

// VP8L inside of the extended format: RIFF size WEBP VP8X ... VP8L ... EXIF ...
File webp_with_orientation(const File& file, uint8_t orientation) {
  const cv::Mat image = cv::imread(mini("airplanes/image_0001.jpg"), cv::IMREAD_COLOR);
  const auto width = static_cast<uint32_t>(image.cols - 1);
  const auto height = static_cast<uint32_t>(image.rows - 1);
  const auto byte = [](uint32_t value, int shift) { return static_cast<uint8_t>(value >> shift); };
  const File extended{'V',
                      'P',
                      '8',
                      'X',
                      10,
                      0,
                      0,
                      0,
                      8,
                      0,
                      0,
                      0,
                      byte(width, 0),
                      byte(width, 8),
                      byte(width, 16),
                      byte(height, 0),
                      byte(height, 8),
                      byte(height, 16)};
  File result = inserted(file, 12, extended);
  const File exif = tiff(orientation, false);
  const File chunk{'E', 'X', 'I', 'F', static_cast<uint8_t>(exif.size()), 0, 0, 0};
  result.insert(result.end(), chunk.begin(), chunk.end());
  result.insert(result.end(), exif.begin(), exif.end());
  const auto riff = static_cast<uint32_t>(result.size() - 8);
  for (int i = 0; i < 4; ++i) result[static_cast<size_t>(4 + i)] = byte(riff, 8 * i);
  return result;
}

// A little-endian file whose directory is written anew behind it, with one field more.
File tiff_with_orientation(File file, uint8_t orientation) {
  const auto number = [&](size_t at, int bytes) {
    size_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | file[at + static_cast<size_t>(i)];
    return value;
  };
  const size_t old = number(4, 4), fields = number(old, 2), directory = file.size();
  const File field{0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0};
  file.push_back(static_cast<uint8_t>(fields + 1));
  file.push_back(0);
  size_t next = old + 2;
  for (; next < old + 2 + 12 * fields && number(next, 2) < 0x112; next += 12) {
    for (size_t i = 0; i < 12; ++i) file.push_back(file[next + i]);
  }
  file.insert(file.end(), field.begin(), field.end());
  for (; next < old + 2 + 12 * fields + 4; ++next) file.push_back(file[next]);
  for (size_t i = 0; i < 4; ++i) file[4 + i] = static_cast<uint8_t>(directory >> 8 * i);
  return file;
}

File lossless_webp() {
  const cv::Mat image = cv::imread(mini("airplanes/image_0001.jpg"), cv::IMREAD_COLOR);
  File file;
  cv::imencode(".webp", image, file, {cv::IMWRITE_WEBP_QUALITY, 101});
  return file;
}

TEST_F(OpenCv, lossless_formats_give_the_pixels_that_went_in) {
  const Pixels expected = as_jpeg();
  EXPECT_EQ(decode("{type: opencv, size: 96}", as(".png")), expected);
  EXPECT_EQ(decode("{type: opencv, size: 96}", as(".bmp")), expected);
  EXPECT_EQ(decode("{type: opencv, size: 96}", as(".tiff")), expected);
  EXPECT_EQ(decode("{type: opencv, size: 96}", as(".ppm")), expected);
  EXPECT_EQ(decode("{type: opencv, size: 96}", lossless_webp()), expected);
}

TEST_F(OpenCv, a_lossy_webp_is_close) {
  EXPECT_LT(mean_difference(decode("{type: opencv, size: 96}", as(".webp")), as_jpeg()), 3);
}

TEST_F(OpenCv, a_jpeg_gives_the_pixels_of_turbojpeg) {
  for (const char* name : {"airplanes/image_0001.jpg", "watch/image_0072.jpg"}) {
    const File file = read_file(mini(name));
    for (int orientation : {1, 6}) {
      const File turned = with_orientation(file, static_cast<uint8_t>(orientation));
      EXPECT_EQ(decode("{type: opencv}", turned),
                decode("{type: turbojpeg, scaled_decode: false}", turned));
    }
  }
}

TEST_F(OpenCv, orientation_and_augmentation_are_those_of_every_format) {
  const File jpeg = read_file(mini("airplanes/image_0001.jpg"));
  const std::string end = ", size: 96, augment: {random_resized_crop: {}, flip: true}}";
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    const DecodeMode mode{true, orientation};
    const Pixels expected = decode("{type: turbojpeg, scaled_decode: false" + end,
                                   with_orientation(jpeg, orientation), mode);
    EXPECT_EQ(decode("{type: opencv" + end, png_with_orientation(as(".png"), orientation), mode),
              expected);
    EXPECT_EQ(
        decode("{type: opencv" + end, webp_with_orientation(lossless_webp(), orientation), mode),
        expected);
  }
}

TEST_F(OpenCv, gray_and_transparent_images_become_rgb) {
  File file;
  cv::imencode(".png", cv::Mat(20, 30, CV_8UC1, cv::Scalar(77)), file);
  EXPECT_EQ(decode("{type: opencv, size: 16}", file), Pixels(16 * 16 * 3, 77));
  cv::imencode(".png", cv::Mat(20, 30, CV_8UC4, cv::Scalar(5, 5, 5, 100)), file);
  EXPECT_EQ(decode("{type: opencv, size: 16}", file), Pixels(16 * 16 * 3, 5));
}

TEST_F(OpenCv, limits_are_checked_in_every_format) {
  const std::string side = "{type: opencv, limits: {max_side: 100}}";
  const std::string expected = "too_large: 398x164 pixels: over decoder.limits.max_side = 100";
  for (const File& file :
       {as(".png"), as(".bmp"), as(".webp"), as(".tiff"), as(".ppm"), lossless_webp(),
        webp_with_orientation(lossless_webp(), 1), as(".jpg")}) {
    EXPECT_EQ(reason_of(side, file), expected);
  }
}

TEST_F(OpenCv, what_is_no_image_is_a_bad_sample) {
  EXPECT_EQ(reason_of("{type: opencv}", {}), "empty: the file is empty");
  EXPECT_EQ(reason_of("{type: opencv}", {'t', 'e', 'x', 't'}),
            "not_an_image: it is text that begins 'text': get the file again");
}

TEST_F(OpenCv, a_truncated_file_is_a_bad_sample) {
  File png = as(".png"), jpeg = as(".jpg");
  png.resize(png.size() / 2);
  EXPECT_EQ(reason_of("{type: opencv}", png),
            "truncated: the file ends inside its PNG data, after " + std::to_string(png.size()) +
                " bytes");
  png.resize(20);
  EXPECT_EQ(reason_of("{type: opencv}", png),
            "truncated: the file ends inside its PNG header, after 20 bytes");
  jpeg.resize(2000);
  EXPECT_EQ(reason_of("{type: opencv}", jpeg),
            "truncated: the file ends inside its JPEG data, after 2000 bytes");
  for (const char* extension : {".bmp", ".webp", ".tiff", ".ppm"}) {
    File file = as(extension);
    file.pop_back();
    if (std::string(extension) == ".tiff") file.resize(file.size() / 2);
    EXPECT_EQ(reason_of("{type: opencv}", file).substr(0, 10), "truncated:") << extension;
  }
}

TEST_F(OpenCv, every_kind_of_pixel_is_what_opencv_makes_of_it) {
  for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_16UC4}) {
    cv::Mat image(16, 16, type);
    cv::RNG random(1);
    random.fill(image, cv::RNG::UNIFORM, 0, CV_MAT_DEPTH(type) == CV_8U ? 256 : 65536);
    for (const char* extension : {".png", ".tiff", ".ppm"}) {
      if (std::string(extension) == ".ppm" && CV_MAT_CN(type) != 3) continue;
      File file;
      cv::imencode(extension, image, file);
      const cv::Mat bgr = cv::imdecode(file, cv::IMREAD_COLOR);
      Pixels expected;
      for (int i = 0; i < 16 * 16; ++i) {
        const auto pixel = bgr.at<cv::Vec3b>(i / 16, i % 16);
        expected.insert(expected.end(), {pixel[2], pixel[1], pixel[0]});
      }
      EXPECT_EQ(decode("{type: opencv, size: 16}", file), expected) << extension << " " << type;
    }
  }
}

TEST_F(OpenCv, a_tiff_may_name_an_orientation) {
  const File jpeg = read_file(mini("airplanes/image_0001.jpg"));
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    EXPECT_EQ(decode("{type: opencv, size: 96}", tiff_with_orientation(as(".tiff"), orientation)),
              decode("{type: turbojpeg, size: 96, scaled_decode: false}",
                     with_orientation(jpeg, orientation)));
  }
}

// Where libjpeg gives up inside the headers, imdecode() leaves what it was given as it is.
TEST_F(OpenCv, a_jpeg_with_damaged_headers_is_a_bad_sample) {
  const auto after = [](const File& file, uint8_t marker) {
    for (size_t i = 0; i + 1 < file.size(); ++i) {
      if (file[i] == 0xff && file[i + 1] == marker) return i + 4;
    }
    throw std::runtime_error("no such marker");
  };
  for (const std::string& path : mini_files()) {
    const File whole = read_file(path);
    File table = whole, component = whole;
    std::fill_n(table.begin() + static_cast<long>(after(whole, 0xc4)) + 1, 16, 0xff);
    component[after(whole, 0xda) + 1] ^= 0x55;
    for (const File& file : {table, component}) {
      EXPECT_EQ(reason_of("{type: opencv}", file).substr(0, 8), "corrupt:") << path;
    }
  }
}

TEST_F(OpenCv, damaged_files_never_show_another_sample) {
  const auto decoder = make_decoder("{type: opencv, size: 64, limits: {max_pixels: 4000000}}");
  const auto fresh = [&] { return decoder->open(); };
  Random random(1);
  int decoded = 0, bad = 0;
  for (const File& original : {as(".png"), as(".bmp"), as(".webp"), as(".tiff"), as(".ppm"),
                               lossless_webp(), as(".jpg")}) {
    for (int i = 0; i < 100; ++i) {
      File file = original;
      const uint64_t reach = i % 2 == 0 ? 200 : file.size();
      file[random.below(reach)] ^= static_cast<uint8_t>(1u << random.below(8));
      if (i % 4 == 0) file.resize(random.below(file.size()));
      const auto used = fresh();
      decode(*used, *decoder, original);
      Pixels first, second;
      try {
        first = decode(*used, *decoder, file, {}, 0x00);
        ++decoded;
      } catch (const BadSample&) {
        ++bad;
      }
      try {
        second = decode(*fresh(), *decoder, file, {}, 0xff);
      } catch (const BadSample&) {
      }
      EXPECT_TRUE(first == second) << i;
    }
  }
  EXPECT_GT(decoded, 50);
  EXPECT_GT(bad, 50);
}

}  // namespace
}  // namespace stoker
