#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "io/decoder/framing.h"
#include "tests/decoder/images.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

File as_png(const std::string& path) {
  File file;
  cv::imencode(".png", cv::imread(path, cv::IMREAD_COLOR), file);
  return file;
}

TEST(AutoDecoder, a_jpeg_is_what_jpeg_makes_of_it) {
  const std::string options[] = {
      "size: 64", "size: 48, augment: {random_resized_crop: {}, flip: true}",
      "size: 32, fit: center_crop, output: float32", "size: 64, on_device: resize, frame: 64KiB",
      "size: 64, on_device: decode, frame: 64KiB"};
  const std::vector<std::string> files = mini_files();
  uint64_t seed = 0;
  for (const std::string& option : options) {
    const auto ours = make_decoder("{type: jpeg, " + option + "}");
    const auto either = make_decoder("{type: auto, " + option + "}");
    ASSERT_EQ(ours->spec().bytes(), either->spec().bytes());
    const auto one = ours->open(), other = either->open();
    for (size_t i = 0; i < files.size(); i += 23) {
      const DecodeMode mode{true, ++seed};
      const File file = read_file(files[i]);
      EXPECT_EQ(decode(*one, *ours, file, mode), decode(*other, *either, file, mode)) << files[i];
    }
  }
}

TEST(AutoDecoder, damage_of_a_jpeg_is_judged_and_borne_with_as_by_jpeg) {
  const File file = read_file(mini_files()[3]);
  File stray = file;
  stray.insert(stray.end() - 2, {'s', 't', 'r', 'a', 'y'});
  for (const File& damaged : {stray, cut(file, 1000), cut(file, 100)}) {
    for (const char* tolerance : {"strict", "as_libjpeg"}) {
      const std::string end = std::string(", size: 32, tolerance: ") + tolerance + "}";
      EXPECT_EQ(reason_of("{type: auto" + end, damaged), reason_of("{type: jpeg" + end, damaged));
    }
  }
  const auto decoder = make_decoder("{type: auto, size: 32, tolerance: as_libjpeg}");
  const auto session = decoder->open();
  decode(*session, *decoder, stray);
  EXPECT_NE(session->tolerated(), "");
  decode(*session, *decoder, as_png(mini_files()[3]));
  EXPECT_EQ(session->tolerated(), "");
}

TEST(AutoDecoder, another_image_is_what_opencv_makes_of_it) {
  const std::string path = mini_files()[5];
  const File png = as_png(path);
  const DecodeMode mode{true, 5};
  const std::string end = ", size: 48, augment: {random_resized_crop: {}, flip: true}";
  EXPECT_EQ(decode("{type: auto" + end + "}", png, mode),
            decode("{type: opencv" + end + "}", png, mode));
  // The plan is that of the JPEG file with the same pixels.
  EXPECT_EQ(decode("{type: auto" + end + "}", png, mode),
            decode("{type: auto, scaled_decode: false" + end + "}", read_file(path), mode));
  EXPECT_EQ(reason_of("{type: auto, limits: {max_side: 20}}", png).substr(0, 10), "too_large:");
}

TEST(AutoDecoder, another_image_is_finished_in_a_frame) {
  const File png = as_png(mini_files()[5]);
  const std::string options = "size: 48, augment: {random_resized_crop: {}, flip: true}";
  for (const char* on_device : {"resize", "decode"}) {
    const Pixels frame = decode(
        "{type: auto, on_device: " + std::string(on_device) + ", frame: 64KiB, " + options + "}",
        png, {true, 7});
    Pixels pixels(48 * 48 * 3);
    FrameReader(48).read(frame.data(), pixels.data());
    EXPECT_EQ(pixels, decode("{type: opencv, " + options + "}", png, {true, 7}));
  }
}

}  // namespace
}  // namespace stoker
