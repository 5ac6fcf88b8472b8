#include "io/decoder/framing.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "tests/decoder/images.h"
#include "tests/support/errors.h"

// Frames: what the loader leaves to the device, read again on the CPU, is the sample that the
// loader would have made.

namespace stoker {
namespace {

FrameHeader header_of(const Pixels& frame) {
  FrameHeader header;
  std::memcpy(&header, frame.data(), sizeof header);
  return header;
}

Pixels read_frame(const Pixels& frame, int64_t size) {
  Pixels out(static_cast<size_t>(size * size * 3));
  FrameReader reader(size);
  reader.read(frame.data(), out.data());
  return out;
}

std::string with(const std::string& options, const std::string& frame) {
  return "{type: turbojpeg, " + options + (frame.empty() ? "" : ", " + frame) + "}";
}

void expect_same(const std::string& options, const std::string& frame, const File& file,
                 const DecodeMode& mode) {
  const auto plain = make_decoder(with(options, ""));
  const char* type = mode.seed / 2 % 2 == 0 ? "jpeg" : "turbojpeg";
  const auto framed =
      make_decoder(std::string("{type: ") + type + ", " + options + ", " + frame + "}");
  const int64_t size = plain->spec().height;
  const Pixels expected = decode(*plain->open(), *plain, file, mode);
  const Pixels first = decode(*framed->open(), *framed, file, mode, 0x11);
  ASSERT_EQ(read_frame(first, size), expected) << options << " " << frame;
  // All that counts was written.
  const Pixels second = decode(*framed->open(), *framed, file, mode, 0xee);
  const size_t used = framed->spec().used(first.data());
  ASSERT_EQ(std::memcmp(first.data(), second.data(), used), 0);
}

TEST(Framing, frames_hold_what_makes_the_same_sample) {
  const std::string rrc = "augment: {random_resized_crop: {}, flip: true}";
  const std::vector<std::string> options = {
      "size: 64", "size: 100, resize: antialias, fit: center_crop", "size: 33, " + rrc,
      "size: 40, scaled_decode: false, resize: antialias, " + rrc, "size: 224, " + rrc};
  const std::vector<std::string> files = mini_files();
  uint64_t seed = 0;
  for (size_t i = 0; i < files.size(); i += 17) {
    for (const std::string& option : options) {
      const DecodeMode mode{seed % 3 != 0, seed};
      const std::string frame = seed % 2 ? "on_device: resize" : "on_device: decode";
      expect_same(option, frame + (seed % 5 ? "" : ", frame: 160KiB"), read_file(files[i]), mode);
      ++seed;
    }
  }
}

TEST(Framing, every_orientation_survives) {
  const File file = read_file(mini_files()[7]);
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    ASSERT_EQ(read_jpeg_header(with_orientation(file, orientation)).orientation, orientation);
    for (uint64_t seed = 0; seed < 4; ++seed) {
      for (const char* frame : {"on_device: resize", "on_device: decode"}) {
        expect_same("size: 48, augment: {random_resized_crop: {}, flip: true}", frame,
                    with_orientation(file, orientation), {true, seed});
      }
    }
  }
}

TEST(Framing, only_the_crop_travels) {
  const auto decoder =
      make_decoder(with("size: 32, scaled_decode: false, augment: {random_resized_crop: {scale: "
                        "[0.1, 0.2]}}",
                        "on_device: resize"));
  const File file = read_file(mini_files()[3]);
  const JpegHeader jpeg = read_jpeg_header(file);
  const Pixels frame = decode(*decoder->open(), *decoder, file, {true, 5});
  const FrameHeader header = header_of(frame);
  EXPECT_EQ(header.kind, FrameKind::pixels);
  EXPECT_LT(header.bytes, jpeg.width * jpeg.height * 3 / 4);
  EXPECT_EQ(decoder->spec().used(frame.data()), kFrameHeader + header.bytes);
}

TEST(Framing, what_does_not_fit_is_resized_by_the_loader) {
  const auto decoder = make_decoder(with("size: 64", "on_device: resize, frame: 13KiB"));
  const Pixels frame = decode(*decoder->open(), *decoder, read_file(mini_files()[3]));
  const FrameHeader header = header_of(frame);
  EXPECT_EQ(header.width, 64);
  EXPECT_EQ(header.height, 64);
  EXPECT_EQ(header.bytes, 64u * 64 * 3);
}

TEST(Framing, what_the_devices_decoder_cannot_read_is_decoded_by_the_loader) {
  const auto decoder = make_decoder(with("size: 64", "on_device: decode"));
  const auto kind = [&](const File& file) {
    return header_of(decode(*decoder->open(), *decoder, file)).kind;
  };
  const File file = read_file(mini_files()[3]);
  EXPECT_EQ(kind(file), FrameKind::jpeg);
  EXPECT_EQ(kind(progressive(file)), FrameKind::pixels);
  const auto small = make_decoder(with("size: 16", "on_device: decode, frame: 1KiB"));
  EXPECT_EQ(header_of(decode(*small->open(), *small, file)).kind, FrameKind::pixels);
}

TEST(Framing, the_device_decodes_its_share_and_always_the_same_files) {
  const std::vector<std::string> files = mini_files();
  const auto devices = [&](const std::string& share, uint64_t seed) {
    const auto decoder =
        make_decoder(with("size: 64", "on_device: decode, on_device_share: " + share));
    std::vector<bool> found;
    for (const std::string& file : files) {
      found.push_back(
          header_of(decode(*decoder->open(), *decoder, read_file(file), {true, seed})).kind ==
          FrameKind::jpeg);
    }
    return found;
  };
  const auto count = [](const std::vector<bool>& of) { return std::ranges::count(of, true); };
  const auto all = count(devices("1", 1)), some = count(devices("0.25", 1));
  EXPECT_EQ(count(devices("0", 1)), 0);
  EXPECT_NEAR(static_cast<double>(some) / static_cast<double>(all), 0.25, 0.1);
  EXPECT_EQ(devices("0.25", 2), devices("0.25", 1));
}

TEST(Framing, a_file_that_ends_early_is_found_by_the_loader) {
  File file = read_file(mini_files()[3]);
  file.resize(file.size() * 2 / 3);
  EXPECT_EQ(reason_of(with("size: 64", "on_device: decode"), file).substr(0, 10), "truncated:");
}

TEST(Framing, options_that_cannot_be_together_are_refused) {
  const auto message = [](const std::string& options) {
    return error_of([&] { make_decoder(with(options, "")); });
  };
  EXPECT_THAT(message("on_device: resize, augment: {color_jitter: {hue: 0.1}}"),
              ::testing::HasSubstr("color_jitter"));
  EXPECT_THAT(message("on_device: resize, output: float32"), ::testing::HasSubstr("float32"));
  EXPECT_THAT(message("on_device: resize, frame: 100KiB"), ::testing::HasSubstr("frame"));
  EXPECT_THAT(error_of([] { make_decoder("{type: raw, on_device: resize}"); }),
              ::testing::HasSubstr("on_device"));
}

}  // namespace
}  // namespace stoker
