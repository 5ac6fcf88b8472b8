#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "io/core/config/plugin.h"
#include "io/core/random.h"
#include "io/decoder/normalise_pixels.h"
#include "io/decoder/pixels.h"
#include "tests/decoder/images.h"
#include "tests/support/errors.h"

// `output: float32` is `output: uint8`, normalised and in planes, to the bit and for all decoders.

namespace stoker {
namespace {

Pixels planes(const Pixels& pixels) {
  const size_t count = pixels.size() / 3;
  Pixels result(pixels.size() * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      const float value = normalised(pixels[3 * i + c], static_cast<int>(c));
      std::memcpy(&result[(c * count + i) * sizeof value], &value, sizeof value);
    }
  }
  return result;
}

// `options`: as in YAML, without type and braces.
void expect_normalised(const std::string& type, const std::string& options, const File& file,
                       const DecodeMode& mode = {}) {
  const std::string start = "{type: " + type + ", " + options;
  ASSERT_EQ(decode(start + ", output: float32}", file, mode),
            planes(decode(start + "}", file, mode)))
      << start << ", seed " << mode.seed;
}

File noise(size_t bytes) {
  File file(bytes);
  Random random(5);
  for (uint8_t& byte : file) byte = static_cast<uint8_t>(random.next());
  return file;
}

File photograph() { return read_file(mini("airplanes/image_0001.jpg")); }

constexpr const char* kAugment =
    ", augment: {random_resized_crop: {}, flip: true, "
    "color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}}";

TEST(FloatOutput, streamed_planes_have_the_values_of_the_definition) {
  constexpr int64_t kPlane = 64;
  alignas(64) std::array<float, 3 * kPlane + 8> values;
  for (const int64_t offset : {0, 1, 8}) {  // aligned to 64, 4 and 32 bytes
    for (int64_t pixels = 0; pixels <= kPlane; ++pixels) {
      const File rgb = noise(static_cast<size_t>(3 * pixels));
      values.fill(-99);
      float* const planes = values.data() + offset;
      normalise_pixels(rgb.data(), pixels, kPlane, planes, Store::streamed);
      end_streams();
      for (int64_t i = 0; i < 3 * kPlane; ++i) {
        const int64_t pixel = i % kPlane, channel = i / kPlane;
        const float expected = pixel >= pixels
                                   ? -99
                                   : normalised(rgb[static_cast<size_t>(3 * pixel + channel)],
                                                static_cast<int>(channel));
        ASSERT_EQ(planes[i], expected) << "pixel " << pixel << " of " << pixels;
      }
    }
  }
}

TEST(FloatOutput, a_value_is_imagenets_normalisation_of_a_level) {
  EXPECT_FLOAT_EQ(normalised(0, 0), -0.485f / 0.229f);
  EXPECT_FLOAT_EQ(normalised(255, 1), (1 - 0.456f) / 0.224f);
  EXPECT_FLOAT_EQ(normalised(51, 2), (0.2f - 0.406f) / 0.225f);
}

TEST(FloatOutput, has_three_planes_of_four_bytes_a_value) {
  const SampleSpec spec = make_decoder("{type: turbojpeg, size: 32, output: float32}")->spec();
  EXPECT_EQ(spec.type, PixelType::float32);
  EXPECT_EQ(spec.bytes(), 32u * 32 * 3 * 4);
  EXPECT_EQ(make_decoder("{type: turbojpeg, size: 32}")->spec().type, PixelType::uint8);
}

TEST(FloatOutput, of_photographs_of_any_size) {
  for (const char* size : {"1", "7", "8", "9", "16", "97", "224", "333"}) {
    for (const char* resize : {"bilinear", "antialias"}) {
      expect_normalised("turbojpeg", std::string("size: ") + size + ", resize: " + resize,
                        photograph());
    }
  }
}

TEST(FloatOutput, of_augmented_photographs) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    expect_normalised("turbojpeg", "size: 61, augment: {random_resized_crop: {}, flip: true}",
                      photograph(), {true, seed});
    expect_normalised("turbojpeg", std::string("size: 61") + kAugment, photograph(), {true, seed});
  }
}

TEST(FloatOutput, of_every_exif_orientation) {
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    const File file = with_orientation(photograph(), orientation);
    expect_normalised("turbojpeg", "size: 50", file);
    expect_normalised("turbojpeg", std::string("size: 50") + kAugment, file, {true, 3});
  }
}

TEST(FloatOutput, of_files_of_the_samples_size) {
  for (const int side : {1, 8, 9, 10, 11, 45}) {
    const auto bytes = static_cast<size_t>(side * side * 3);
    const std::string size = "size: " + std::to_string(side);
    const File file = encoded(noise(bytes), side, side, TJPF_RGB, TJSAMP_444);
    expect_normalised("turbojpeg", size, file);
    expect_normalised("turbojpeg", size + kAugment, file, {true, 1});
    const std::string stored =
        ", width: " + std::to_string(side) + ", height: " + std::to_string(side);
    expect_normalised("raw", size + stored, noise(bytes));
    for (uint64_t seed = 0; seed < 5; ++seed) {
      expect_normalised("raw", size + stored + ", augment: {flip: true}", noise(bytes),
                        {true, seed});
      expect_normalised("raw", size + stored + kAugment, noise(bytes), {true, seed});
    }
  }
}

TEST(FloatOutput, of_stored_pixels_of_another_size) {
  expect_normalised("raw", "size: 20, width: 33, height: 21", noise(33 * 21 * 3));
  expect_normalised("raw", "size: 20, width: 2, height: 3", noise(2 * 3 * 3));
}

TEST(FloatOutput, of_opencvs_codecs) {
  load_plugin(std::string(STOKER_PLUGIN_DIR) + "/stoker_opencv.so");
  expect_normalised("opencv", "size: 40", photograph());
  expect_normalised("opencv", std::string("size: 40") + kAugment, photograph(), {true, 2});
  const File square = encoded(noise(48 * 48 * 3), 48, 48, TJPF_RGB, TJSAMP_444);
  expect_normalised("opencv", "size: 48", square);
}

TEST(FloatOutput, a_session_keeps_nothing_of_the_last_sample) {
  const auto decoder =
      make_decoder(std::string("{type: turbojpeg, output: float32") + kAugment + "}");
  const auto session = decoder->open();
  const Pixels first = decode(*session, *decoder, photograph(), {true, 1}, 0x55);
  decode(*session, *decoder, with_orientation(photograph(), 6), {true, 2});
  EXPECT_EQ(decode(*session, *decoder, photograph(), {true, 1}, 0xaa), first);
}

TEST(FloatOutput, another_type_is_refused) {
  const std::string error = error_of([] { make_decoder("{type: turbojpeg, output: float16}"); });
  EXPECT_NE(error.find("'output' must be one of uint8, float32"), std::string::npos) << error;
}

}  // namespace
}  // namespace stoker
