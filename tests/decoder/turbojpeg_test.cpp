#include <gtest/gtest.h>

#include <thread>

#include "io/decoder/jpeg_header.h"
#include "tests/decoder/images.h"

namespace stoker {
namespace {

File caltech_file() { return read_file(mini("watch/image_0072.jpg")); }

TEST(Turbojpeg, an_image_of_the_samples_size_arrives_unchanged) {
  Pixels pixels(64 * 64 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i / 97);
  const File file = encoded(pixels, 64, 64, TJPF_RGB, TJSAMP_444);
  Pixels expected(pixels.size());
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitDecompress(), tjDestroy);
  ASSERT_EQ(tjDecompress2(handle.get(), file.data(), file.size(), expected.data(), 64, 0, 64,
                          TJPF_RGB, TJFLAG_ACCURATEDCT),
            0);
  EXPECT_EQ(decode("{type: turbojpeg, size: 64}", file), expected);
}

TEST(Turbojpeg, a_progressive_file_gives_the_pixels_of_its_baseline_twin) {
  const File file = caltech_file();
  const File twin = progressive(file);
  ASSERT_EQ(read_jpeg_header(twin).process, JpegProcess::progressive);
  EXPECT_EQ(decode("{type: turbojpeg}", twin), decode("{type: turbojpeg}", file));
}

TEST(Turbojpeg, an_arithmetic_file_gives_the_pixels_of_its_huffman_twin) {
  const File twin =
      read_file(std::string(STOKER_SOURCE_DIR) + "/tests/decoder/data/arithmetic.jpg");
  ASSERT_EQ(read_jpeg_header(twin).process, JpegProcess::arithmetic);
  EXPECT_EQ(decode("{type: turbojpeg}", twin), decode("{type: turbojpeg}", caltech_file()));
}

TEST(Turbojpeg, a_gray_file_becomes_rgb) {
  const File file = encoded(Pixels(80 * 60, 77), 80, 60, TJPF_GRAY, TJSAMP_GRAY);
  ASSERT_EQ(read_jpeg_header(file).components, 1);
  EXPECT_EQ(decode("{type: turbojpeg, size: 16}", file), Pixels(16 * 16 * 3, 77));
}

// One colour; libjpeg stores four components as YCCK with Adobe's segment.
File ink_file(uint8_t cyan, uint8_t magenta, uint8_t yellow, uint8_t black) {
  Pixels pixels;
  for (int i = 0; i < 32 * 32; ++i) {
    for (int ink : {cyan, magenta, yellow, black}) {
      pixels.push_back(static_cast<uint8_t>(255 - ink));  // Adobe's habit
    }
  }
  return encoded(pixels, 32, 32, TJPF_CMYK, TJSAMP_444);
}

void expect_color(const Pixels& image, int red, int green, int blue) {
  const Pixels color{image[0], image[1], image[2]};
  EXPECT_NEAR(color[0], red, 2);
  EXPECT_NEAR(color[1], green, 2);
  EXPECT_NEAR(color[2], blue, 2);
  for (size_t i = 0; i < image.size(); ++i) ASSERT_EQ(image[i], color[i % 3]);
}

TEST(Turbojpeg, ink_becomes_light) {
  const File file = ink_file(51, 102, 0, 127);
  ASSERT_EQ(read_jpeg_header(file).components, 4);
  expect_color(decode("{type: turbojpeg, size: 16}", file), 102, 77, 128);
}

TEST(Turbojpeg, ink_without_adobes_segment_is_not_inverted) {
  File file = ink_file(255, 255, 255, 255 - 51);
  const size_t adobe = find_marker(file, 0xee);
  file.erase(file.begin() + static_cast<ptrdiff_t>(adobe),
             file.begin() + static_cast<ptrdiff_t>(adobe) + 16);
  // What was YCC and K is now taken for ink: 255, 128, 128 and 51.
  expect_color(decode("{type: turbojpeg, size: 16}", file), 0, 102, 102);
}

TEST(Turbojpeg, seeds_change_only_augmented_training_samples) {
  const std::string yaml = "{type: turbojpeg, size: 64, augment: {random_resized_crop: {}}}";
  const File file = caltech_file();
  EXPECT_EQ(decode(yaml, file, {false, 1}), decode(yaml, file, {false, 2}));
  EXPECT_EQ(decode(yaml, file, {true, 1}), decode(yaml, file, {true, 1}));
  EXPECT_NE(decode(yaml, file, {true, 1}), decode(yaml, file, {true, 2}));
  const std::string plain = "{type: turbojpeg, size: 64}";
  EXPECT_EQ(decode(plain, file, {true, 1}), decode(plain, file, {false, 0}));
}

TEST(Turbojpeg, a_session_keeps_nothing_of_the_last_sample) {
  const auto decoder = make_decoder(
      "{type: turbojpeg, augment: {random_resized_crop: {}, flip: true, "
      "color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}}}");
  const auto session = decoder->open();
  const File a = caltech_file(), b = read_file(mini("airplanes/image_0001.jpg"));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Pixels first = decode(*session, *decoder, a, {true, seed}, 0x55);
    decode(*session, *decoder, with_orientation(b, 6), {true, seed + 7});
    EXPECT_EQ(decode(*session, *decoder, a, {true, seed}, 0xaa), first);
    EXPECT_EQ(decode(*decoder->open(), *decoder, a, {true, seed}), first);
  }
}

TEST(Turbojpeg, sessions_of_one_decoder_work_in_parallel) {
  const auto decoder =
      make_decoder("{type: turbojpeg, augment: {random_resized_crop: {}, flip: true}}");
  const std::vector<std::string> paths = mini_files();
  const auto work = [&](int64_t begin, int64_t step, std::vector<Pixels>& results) {
    const auto session = decoder->open();
    for (int64_t i = begin; i < 50; i += step) {
      const auto at = static_cast<size_t>(i);
      results[at] = decode(*session, *decoder, read_file(paths[at * 10]), {true, at});
    }
  };
  std::vector<Pixels> alone(50), together(50);
  work(0, 1, alone);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) threads.emplace_back([&, t] { work(t, 4, together); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(alone == together);
}

// Upright pixel (x, y) of a square image that is stored with this orientation.
size_t stored_at(int orientation, int64_t x, int64_t y, int64_t last) {
  switch (orientation) {
    case 2:
      return static_cast<size_t>(y * (last + 1) + last - x);
    case 3:
      return static_cast<size_t>((last - y) * (last + 1) + last - x);
    case 4:
      return static_cast<size_t>((last - y) * (last + 1) + x);
    case 5:
      return static_cast<size_t>(x * (last + 1) + y);
    case 6:
      return static_cast<size_t>((last - x) * (last + 1) + y);
    case 7:
      return static_cast<size_t>((last - x) * (last + 1) + last - y);
    case 8:
      return static_cast<size_t>(x * (last + 1) + last - y);
    default:
      return static_cast<size_t>(y * (last + 1) + x);
  }
}

TEST(Turbojpeg, every_exif_orientation_is_turned_upright) {
  const File file = read_file(mini("airplanes/image_0001.jpg"));  // stretched to a square
  const Pixels stored = decode("{type: turbojpeg, size: 96}", file);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (bool big_endian : {false, true}) {
      const Pixels upright =
          decode("{type: turbojpeg, size: 96}",
                 with_orientation(file, static_cast<uint8_t>(orientation), big_endian));
      Pixels expected(upright.size());
      for (int64_t y = 0; y < 96; ++y) {
        for (int64_t x = 0; x < 96; ++x) {
          std::copy_n(&stored[3 * stored_at(orientation, x, y, 95)], 3,
                      &expected[static_cast<size_t>(3 * (y * 96 + x))]);
        }
      }
      // Mirrored windows round the other way at exact halves.
      EXPECT_LE(mean_difference(upright, expected), 0.02) << orientation;
    }
  }
}

TEST(Turbojpeg, an_orientation_outside_of_1_to_8_means_as_stored) {
  const File file = caltech_file();
  const Pixels stored = decode("{type: turbojpeg, size: 96}", file);
  EXPECT_EQ(decode("{type: turbojpeg, size: 96}", with_orientation(file, 0)), stored);
  EXPECT_EQ(decode("{type: turbojpeg, size: 96}", with_orientation(file, 9)), stored);
}

TEST(Turbojpeg, a_reduced_decode_looks_like_a_full_one) {
  const File file = read_file(mini("airplanes/image_0001.jpg"));
  for (const char* size : {"64", "32", "16"}) {
    const std::string end = std::string(", resize: antialias, size: ") + size + "}";
    const Pixels full = decode("{type: turbojpeg, scaled_decode: false" + end, file);
    const Pixels reduced = decode("{type: turbojpeg" + end, file);
    EXPECT_NE(reduced, full) << size;
    EXPECT_LT(mean_difference(reduced, full), 4) << size;
  }
}

TEST(Turbojpeg, an_empty_file_is_a_bad_sample) {
  EXPECT_EQ(reason_of("{type: turbojpeg}", {}), "empty: the file is empty");
}

TEST(Turbojpeg, another_kind_of_file_is_a_bad_sample) {
  EXPECT_EQ(reason_of("{type: turbojpeg}", {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}),
            "unsupported: it is a PNG image: set decoder.type=auto, which reads it");
}

TEST(Turbojpeg, a_truncated_file_is_a_bad_sample) {
  File file = caltech_file();
  file.resize(3000);
  EXPECT_EQ(reason_of("{type: turbojpeg}", file),
            "truncated: the file ends inside its JPEG data, after 3000 bytes");
  file.resize(100);
  EXPECT_EQ(reason_of("{type: turbojpeg}", file),
            "truncated: the file ends inside its JPEG header, after 100 bytes");
}

TEST(Turbojpeg, damaged_data_is_a_bad_sample) {
  File file = caltech_file();
  file[file.size() / 2] = 0xff;
  file[file.size() / 2 + 1] = 0xd9;
  EXPECT_EQ(reason_of("{type: turbojpeg}", file),
            "corrupt: JPEG data: Corrupt JPEG data: premature end of data segment");
}

TEST(Turbojpeg, kinds_that_libjpeg_does_not_know_are_bad_samples) {
  File file = caltech_file();
  const size_t frame = find_marker(file, 0xc0);
  file[frame + 1] = 0xc3;
  EXPECT_EQ(reason_of("{type: turbojpeg}", file),
            "unsupported: lossless JPEG of 8 bits and 3 components: only baseline, extended, "
            "progressive and arithmetic ones of 8 bits and 1, 3 or 4 components can be decoded");
  file[frame + 1] = 0xc1;
  file[frame + 4] = 12;
  EXPECT_EQ(reason_of("{type: turbojpeg}", file),
            "unsupported: extended JPEG of 12 bits and 3 components: only baseline, extended, "
            "progressive and arithmetic ones of 8 bits and 1, 3 or 4 components can be decoded");
}

TEST(Turbojpeg, files_beyond_the_limits_are_bad_samples) {
  const File file = caltech_file();
  EXPECT_EQ(reason_of("{type: turbojpeg}", with_size(file, 60000, 100)),
            "too_large: 60000x100 pixels: over decoder.limits.max_side = 16384");
  EXPECT_EQ(reason_of("{type: turbojpeg}", with_size(file, 16384, 16384)),
            "too_large: 16384x16384 pixels: over decoder.limits.max_pixels = 50000000");
  EXPECT_EQ(reason_of("{type: turbojpeg, limits: {max_bytes: 4KiB}}", file),
            "too_large: 4560 bytes: over decoder.limits.max_bytes = 4KiB");
  EXPECT_EQ(reason_of("{type: turbojpeg, limits: {max_scans: 9}}", progressive(file)),
            "too_large: 10 scans: over decoder.limits.max_scans = 9");
  EXPECT_EQ(reason_of("{type: turbojpeg, limits: {max_scans: 10}}", progressive(file)), "decoded");
}

}  // namespace
}  // namespace stoker
