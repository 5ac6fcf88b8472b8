#include <gtest/gtest.h>

#include <map>

#include "io/core/random.h"
#include "io/core/sample_spec.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/framing.h"
#include "tests/decoder/images.h"
#include "tests/decoder/libjpeg.h"
#include "tests/support/short_tests.h"

// decoder.tolerance: as_libjpeg, against libjpeg's own interface: what it decodes, with or without
// warnings, is a sample of the very same pixels; what it calls an error is a bad sample.

namespace stoker {
namespace {

// A decoder under test, with a session that is used for all files.
struct Tried {
  Tried(const std::string& type, const std::string& options)
      : name(type + options),
        decoder(make_decoder("{type: " + type + ", limits: {max_pixels: 4000000}" + options + "}")),
        session(decoder->open()) {}

  // "decoded", or the reason.
  std::string attempt(const File& file, const DecodeMode& mode, uint8_t poison) {
    // An exact copy on the heap, so that the address sanitizer sees every read behind its end.
    const File exact(file.begin(), file.end());
    try {
      pixels = decode(*session, *decoder, exact, mode, poison);
      return "decoded";
    } catch (const BadSample& bad) {
      return std::string(to_string(bad.reason())) + ": " + bad.what();
    }
  }

  std::string name;
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<DecoderSession> session;
  Pixels pixels;
};

// The sample that the same options make of pixels that are there already.
Pixels sample_of(const ByLibjpeg& image, const std::string& options, const DecodeMode& mode) {
  return decode("{type: raw, width: " + std::to_string(image.width) +
                    ", height: " + std::to_string(image.height) + options + "}",
                image.rgb, mode);
}

const std::string kTolerant = ", tolerance: as_libjpeg";
const std::string kWhole = ", size: 48";
const std::string kCrop =
    ", size: 24, augment: {random_resized_crop: {scale: [0.05, 0.5]}, flip: true}";

class JpegTolerance : public testing::Test {
 protected:
  // All decoders against libjpeg. `i`: chooses the random crop.
  void check(const File& file, uint64_t i = 0) {
    const ByLibjpeg expected = by_libjpeg(file);
    const bool decodes = expected.error.empty();
    if (decodes && std::max(expected.width, expected.height) > ImageLimits().max_side) return;
    ++seen_[!decodes ? "error" : expected.warning.empty() ? "clean" : "warning"];
    for (Tried& tried : whole_) check_whole(tried, file, expected);
    for (Tried& tried : crops_) check_crop(tried, file, expected, i);
    check_scaled(file, decodes);
    // The default is what it was: nothing that libjpeg warns of.
    const std::string strict = strict_.attempt(file, {}, 3);
    if (strict == "decoded") {
      ASSERT_EQ(expected.error + expected.warning, "");
      ASSERT_EQ(whole_[1].session->tolerated(), "");
    }
  }

  void check_whole(Tried& tried, const File& file, const ByLibjpeg& expected) {
    const std::string verdict = tried.attempt(file, {}, 0x5a);
    if (!expected.error.empty()) {
      ASSERT_NE(verdict, "decoded") << tried.name << ": " << expected.error;
      return;
    }
    ASSERT_EQ(verdict, "decoded") << tried.name << ": " << expected.warning;
    if (!expected.warning.empty()) {
      ASSERT_EQ(tried.session->tolerated(), expected.warning) << tried.name;
    }
    if (!upright_rgb(file, expected)) return;
    ASSERT_TRUE(tried.pixels == sample_of(expected, kWhole, {})) << tried.name << ": other pixels";
  }

  void check_crop(Tried& tried, const File& file, const ByLibjpeg& expected, uint64_t i) {
    const DecodeMode mode{true, i};
    const std::string verdict = tried.attempt(file, mode, 0xa5);
    ASSERT_EQ(verdict == "decoded", expected.error.empty()) << tried.name << ": " << verdict;
    if (!expected.error.empty() || !upright_rgb(file, expected)) return;
    ASSERT_TRUE(tried.pixels == sample_of(expected, kCrop, mode)) << tried.name << ": other pixels";
  }

  // Where halves of the whole image are whole pixels.
  void check_scaled(const File& file, bool decodes) {
    const std::string verdict = scaled_.attempt(file, {}, 0x33);
    ASSERT_EQ(verdict == "decoded", decodes) << verdict;
    if (!decodes) return;
    const ByLibjpeg full = by_libjpeg(file);
    if (full.width < 32 || full.height < 32 || full.width % 8 != 0 || full.height % 8 != 0) return;
    const int64_t least = std::min(full.width, full.height);
    const ByLibjpeg scaled = by_libjpeg(file, least >= 128 ? 8 : least >= 64 ? 4 : 2);
    if (!upright_rgb(file, scaled)) return;
    ASSERT_TRUE(scaled_.pixels == sample_of(scaled, ", size: 16", {})) << "other pixels";
    ++seen_["scaled"];
  }

  // Raw pixels stand for those.
  static bool upright_rgb(const File& file, const ByLibjpeg& image) {
    return image.components != 4 &&
           read_jpeg_header(file, nullptr, Tolerance::as_libjpeg).orientation == 1;
  }

  std::map<std::string, int> seen_;
  Tried whole_[2]{{"jpeg", ", scaled_decode: false" + kWhole + kTolerant},
                  {"turbojpeg", ", scaled_decode: false" + kWhole + kTolerant}};
  Tried crops_[2]{{"jpeg", ", scaled_decode: false" + kCrop + kTolerant},
                  {"turbojpeg", ", scaled_decode: false" + kCrop + kTolerant}};
  Tried scaled_{"jpeg", ", size: 16" + kTolerant};
  Tried strict_{"turbojpeg", ", scaled_decode: false" + kWhole};
};

// Of all kinds, small: a real one, every sampling, gray, restart markers, progressive, arithmetic,
// CMYK.
std::vector<File> kinds() {
  std::vector<File> result{read_file(mini("watch/image_0072.jpg"))};
  Random random(1);
  Pixels pixels(96 * 64 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(i / 288 + i % 3 * 40 + random.below(40));
  }
  for (const int sampling : {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_440}) {
    result.push_back(encoded(pixels, 96, 64, TJPF_RGB, sampling, 75));
  }
  result.push_back(encoded(Pixels(pixels.begin(), pixels.begin() + 64 * 64), 64, 64, TJPF_GRAY,
                           TJSAMP_GRAY, 75));
  ::setenv("TJ_RESTART", "4B", 1);
  result.push_back(encoded(pixels, 96, 64, TJPF_RGB, TJSAMP_420, 75));
  ::unsetenv("TJ_RESTART");
  result.push_back(progressive(result[3]));
  result.push_back(with_orientation(result[3], 6));
  result.push_back(
      read_file(std::string(STOKER_SOURCE_DIR) + "/tests/decoder/data/arithmetic.jpg"));
  result.push_back(encoded(Pixels(32 * 32 * 4, 99), 32, 32, TJPF_CMYK, TJSAMP_444));
  return result;
}

File ended(File file) {
  file.insert(file.end(), {0xff, 0xd9});
  return file;
}

TEST_F(JpegTolerance, of_files_that_are_cut_at_any_byte) {
  const std::vector<File> files = kinds();
  for (const size_t kind : {3, 6, 7}) {
    const File& file = files[kind];
    const size_t scan = find_marker(file, 0xda);
    for (size_t bytes = 0; bytes < file.size(); bytes += bytes < scan + 40 ? 1 : stride(11)) {
      ASSERT_NO_FATAL_FAILURE(check(cut(file, bytes), bytes)) << kind << ", " << bytes;
    }
  }
  EXPECT_GT(seen_["warning"], 30);
  EXPECT_GT(seen_["error"], 30);
}

TEST_F(JpegTolerance, of_files_that_lack_bytes_at_the_end) {
  for (const File& file : kinds()) {
    for (size_t less = 0; less < 14; ++less) {
      ASSERT_NO_FATAL_FAILURE(check(ended(cut(file, file.size() - 2 - less)), less));
      ASSERT_NO_FATAL_FAILURE(check(ended(cut(file, file.size() / 2 + less)), less));
    }
  }
  EXPECT_GT(seen_["warning"], 30);
}

TEST_F(JpegTolerance, of_files_with_bytes_before_a_marker) {
  Random random(2);
  for (const File& file : kinds()) {
    std::vector<size_t> markers;
    for (size_t at = 2; at + 1 < file.size(); ++at) {
      if (file[at] == 0xff && file[at + 1] != 0 && file[at + 1] != 0xff) markers.push_back(at);
    }
    for (size_t i = 0; i < 60; ++i) {
      File garbage(1 + random.below(20));
      for (uint8_t& byte : garbage)
        byte = static_cast<uint8_t>(random.below(i % 3 == 0 ? 256 : 255));
      ASSERT_NO_FATAL_FAILURE(
          check(inserted(file, markers[i < 4 ? markers.size() - 1 : random.below(markers.size())],
                         garbage),
                i))
          << i;
    }
  }
  EXPECT_GT(seen_["warning"], 30);
}

TEST_F(JpegTolerance, of_files_with_flipped_bits) {
  Random random(3);
  for (const File& original : kinds()) {
    for (size_t i = 0; i < 1600; i += stride(8)) {
      File file = original;
      const uint64_t reach = i % 2 == 0 ? std::min<uint64_t>(700, file.size()) : file.size();
      for (uint64_t flips = 1 + random.below(3); flips-- > 0;) {
        file[random.below(reach)] ^= static_cast<uint8_t>(1u << random.below(8));
      }
      ASSERT_NO_FATAL_FAILURE(check(file, i)) << i;
    }
  }
  EXPECT_GT(seen_["warning"], 30);
  EXPECT_GT(seen_["error"], 30);
}

TEST_F(JpegTolerance, of_files_with_other_bytes) {
  Random random(4);
  for (const File& original : kinds()) {
    for (size_t i = 0; i < 1200; i += stride(8)) {
      const uint64_t reach =
          i % 2 == 0 ? std::min<uint64_t>(700, original.size()) : original.size();
      const auto at = static_cast<size_t>(random.below(reach));
      File file = original;
      if (i % 3 == 0) {
        const auto bytes = std::min<size_t>(1 + random.below(40), file.size() - at);
        file.erase(file.begin() + static_cast<ptrdiff_t>(at),
                   file.begin() + static_cast<ptrdiff_t>(at + bytes));
      } else {
        file[at] = i % 3 == 1 ? 0xff : static_cast<uint8_t>(random.next());
      }
      ASSERT_NO_FATAL_FAILURE(check(file, i)) << i;
    }
  }
  EXPECT_GT(seen_["warning"], 30);
}

// libjpeg does not even warn of a segment that says that it is shorter than its own length.
TEST_F(JpegTolerance, of_segments_without_a_length) {
  for (const File& original : kinds()) {
    for (const uint8_t marker : {0xe5, 0xfe, 0xdb, 0xc4}) {
      for (const uint8_t length : {0, 1}) {
        check(inserted(original, 2, {0xff, marker, 0, length}));
      }
    }
  }
  const File file = inserted(kinds()[3], 2, {0xff, 0xe5, 0, 1});
  EXPECT_EQ(whole_[0].attempt(file, {}, 0), "decoded");
  EXPECT_EQ(whole_[0].session->tolerated(), "JPEG header: segment of length 1 at byte 4");
}

TEST_F(JpegTolerance, an_error_behind_a_warning_is_an_error) {
  File file = kinds()[3];
  const size_t end = file.size() - 2;
  file = inserted(file, end, {0xff, 0xd8});                // a second start of an image
  file = inserted(file, find_marker(file, 0xdb), {1, 2});  // after a warning
  EXPECT_NE(by_libjpeg(file).warning, "");
  EXPECT_NE(by_libjpeg(file).error, "");
  check(file);
  EXPECT_EQ(whole_[1].attempt(file, {}, 0),
            "corrupt: JPEG data: Invalid JPEG file structure: two SOI markers");
}

TEST_F(JpegTolerance, a_sample_without_damage_is_none_that_was_tolerated) {
  const File clean = kinds()[3], damaged = ended(cut(clean, clean.size() / 2));
  for (Tried& tried : whole_) {
    EXPECT_EQ(tried.attempt(damaged, {}, 0), "decoded");
    EXPECT_EQ(tried.session->tolerated(), "Corrupt JPEG data: premature end of data segment");
    EXPECT_EQ(tried.attempt(clean, {}, 0), "decoded");
    EXPECT_EQ(tried.session->tolerated(), "");
  }
}

TEST_F(JpegTolerance, limits_hold_for_damaged_files) {
  const File file = kinds()[3];
  const File damaged = inserted(file, find_marker(file, 0xdb), {0});
  EXPECT_EQ(whole_[0].attempt(with_size(file, 2001, 2000), {}, 0),
            "too_large: 2001x2000 pixels: over decoder.limits.max_pixels = 4000000");
  File large = inserted(with_size(file, 2001, 2000), find_marker(file, 0xdb), {0});
  EXPECT_EQ(whole_[0].attempt(large, {}, 0),
            "too_large: 2001x2000 pixels: over decoder.limits.max_pixels = 4000000");
  EXPECT_EQ(whole_[0].attempt(damaged, {}, 0), "decoded");
  const File scans = progressive(file);
  const File cut_short = cut(scans, scans.size() - 20);
  const std::string limit = "{type: jpeg, size: 16, tolerance: as_libjpeg, limits: {max_scans: ";
  EXPECT_EQ(reason_of(limit + "9}}", cut_short),
            "too_large: 10 scans: over decoder.limits.max_scans = 9");
  EXPECT_EQ(reason_of(limit + "10}}", cut_short), "decoded");
}

TEST_F(JpegTolerance, a_frame_for_the_device_holds_the_same_sample) {
  Tried framed("jpeg", ", size: 48, on_device: resize, frame: 1MiB" + kTolerant);
  Tried plain("jpeg", ", size: 48" + kTolerant);
  FrameReader reader(48);
  // Those of which libjpeg warns where data are missing.
  const std::vector<File> all = kinds();
  for (size_t kind = 0; kind < 7; ++kind) {
    const File& file = all[kind];
    for (const File& damaged : {ended(cut(file, file.size() / 2)), cut(file, file.size() - 30)}) {
      ASSERT_EQ(framed.attempt(damaged, {}, 0), "decoded");
      ASSERT_EQ(plain.attempt(damaged, {}, 0), "decoded");
      ASSERT_EQ(framed.session->tolerated(), plain.session->tolerated());
      ASSERT_NE(framed.session->tolerated(), "");
      // Where it lies in a batch is aligned.
      alignas(64) static uint8_t frame[1 << 20];
      std::copy(framed.pixels.begin(), framed.pixels.end(), frame);
      Pixels sample(plain.pixels.size());
      reader.read(frame, sample.data());
      ASSERT_TRUE(sample == plain.pixels);
    }
  }
}

TEST(JpegToleranceOption, is_strict_where_the_device_decodes) {
  EXPECT_THROW(make_decoder("{type: jpeg, on_device: decode, tolerance: as_libjpeg}"), Error);
  EXPECT_THROW(make_decoder("{type: jpeg, tolerance: lax}"), Error);
  EXPECT_NO_THROW(make_decoder("{type: jpeg, on_device: decode, tolerance: strict}"));
}

}  // namespace
}  // namespace stoker
