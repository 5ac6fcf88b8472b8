#include "io/device/frame_math.h"

#include <gtest/gtest.h>

#include "tests/decoder/images.h"
#include "tests/device/kernels_sample.h"

// The functions that the CUDA kernels are made of, run by the host: bit for bit the resizer's.

namespace stoker {
namespace {

void expect_the_resizers_samples(const std::string& options) {
  const auto plain = make_decoder("{type: turbojpeg, " + options + "}");
  const auto framed =
      make_decoder("{type: turbojpeg, on_device: resize, frame: 8MiB, " + options + "}");
  const auto session = plain->open(), framing = framed->open();
  const std::vector<std::string> names = mini_files();
  for (size_t i = 0; i < names.size(); i += 29) {
    const File file = with_orientation(read_file(names[i]), static_cast<uint8_t>(1 + i % 8));
    const DecodeMode mode{i % 3 != 0, i};
    const Pixels expected = decode(*session, *plain, file, mode);
    const Pixels frame = decode(*framing, *framed, file, mode);
    const Pixels sample = kernels_sample(frame.data(), static_cast<int>(plain->spec().height));
    ASSERT_EQ(sample, expected) << options << ", " << names[i] << ": mean difference "
                                << mean_difference(sample, expected);
  }
}

TEST(FrameMath, bilinear_samples_are_the_resizers) {
  for (const char* options : {"size: 224", "size: 61", "size: 16", "size: 100, fit: center_crop",
                              "size: 24, scaled_decode: false",
                              "size: 97, augment: {random_resized_crop: {}, flip: true}",
                              "size: 224, augment: {random_resized_crop: {scale: [0.001, 0.1]}}"}) {
    expect_the_resizers_samples(options);
  }
}

TEST(FrameMath, antialiased_samples_are_the_resizers) {
  for (const char* options : {"size: 224", "size: 61", "size: 16", "size: 100, fit: center_crop",
                              "size: 64, scaled_decode: false", "size: 41, scaled_decode: false",
                              "size: 97, augment: {random_resized_crop: {}, flip: true}"}) {
    expect_the_resizers_samples(std::string("resize: antialias, ") + options);
  }
}

}  // namespace
}  // namespace stoker
