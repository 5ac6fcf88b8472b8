#include <gtest/gtest.h>

#include <map>

#include "io/core/random.h"
#include "tests/decoder/images.h"

// Whatever a file is, `jpeg` and `turbojpeg` say the same about it: the same pixels, or the same
// reason and message. Both sessions have decoded thousands of other files before.

namespace stoker {
namespace {

class JpegVerdict : public testing::Test {
 protected:
  JpegVerdict()
      : ours_(make_decoder(options("jpeg"))), theirs_(make_decoder(options("turbojpeg"))) {
    our_session_ = ours_->open();
    their_session_ = theirs_->open();
  }

  static std::string options(const std::string& type) {
    return "{type: " + type + ", size: 48, limits: {max_pixels: 4000000}}";
  }

  struct Outcome {
    std::string verdict;
    Pixels pixels;
    bool operator==(const Outcome&) const = default;
  };

  static Outcome outcome(DecoderSession& session, const Decoder& decoder, const File& file,
                         uint8_t poison) {
    // An exact copy on the heap, so that the address sanitizer sees every read behind its end.
    const File exact(file.begin(), file.end());
    try {
      return {"decoded", decode(session, decoder, exact, {}, poison)};
    } catch (const BadSample& bad) {
      return {std::string(to_string(bad.reason())) + ": " + bad.what(), {}};
    }
  }

  void check(const File& file) {
    const Outcome ours = outcome(*our_session_, *ours_, file, 0x00);
    const Outcome theirs = outcome(*their_session_, *theirs_, file, 0xff);
    ASSERT_EQ(ours.verdict, theirs.verdict);
    ASSERT_TRUE(ours.pixels == theirs.pixels) << "other pixels";
    ++verdicts_[ours.verdict.substr(0, ours.verdict.find(':'))];
  }

  // Of all that the fast decoders know, none of them large.
  static std::vector<File> files() {
    std::vector<File> result;
    const std::vector<std::string> all = mini_files();
    for (size_t i = 0; i < all.size(); i += 100) result.push_back(read_file(all[i]));
    Random random(1);
    Pixels pixels(90 * 70 * 3);
    for (size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<uint8_t>(i / 270 + i % 3 * 40 + random.below(30));
    }
    for (const int sampling : {TJSAMP_444, TJSAMP_422, TJSAMP_420}) {
      result.push_back(encoded(pixels, 90, 70, TJPF_RGB, sampling, 75));
    }
    pixels.resize(90 * 70);
    result.push_back(encoded(pixels, 90, 70, TJPF_GRAY, TJSAMP_GRAY, 75));
    ::setenv("TJ_RESTART", "4B", 1);
    ::setenv("TJ_OPTIMIZE", "1", 1);
    result.push_back(encoded(Pixels(90 * 70 * 3, 9), 90, 70, TJPF_RGB, TJSAMP_420, 75));
    result.push_back(encoded(pixels, 90, 70, TJPF_GRAY, TJSAMP_GRAY, 99));
    ::unsetenv("TJ_OPTIMIZE");
    ::setenv("TJ_PROGRESSIVE", "1", 1);
    result.push_back(encoded(pixels, 90, 70, TJPF_GRAY, TJSAMP_GRAY, 85));
    ::unsetenv("TJ_PROGRESSIVE");
    ::unsetenv("TJ_RESTART");
    result.push_back(progressive(result[7]));
    return result;
  }

  std::unique_ptr<Decoder> ours_;
  std::unique_ptr<Decoder> theirs_;
  std::unique_ptr<DecoderSession> our_session_;
  std::unique_ptr<DecoderSession> their_session_;
  std::map<std::string, int> verdicts_;
};

TEST_F(JpegVerdict, of_files_that_are_cut) {
  Random random(2);
  for (const File& file : files()) {
    for (int i = 0; i < 100; ++i) {
      const auto bytes = static_cast<ptrdiff_t>(random.below(file.size()));
      ASSERT_NO_FATAL_FAILURE(check({file.begin(), file.begin() + bytes}));
    }
    for (ptrdiff_t less = 0; less < 12; ++less) {
      ASSERT_NO_FATAL_FAILURE(check({file.begin(), file.end() - less}));
      File ended(file.begin(), file.end() - 2 - less);
      ended.insert(ended.end(), {0xff, 0xd9});
      ASSERT_NO_FATAL_FAILURE(check(ended));
    }
  }
  EXPECT_GT(verdicts_["truncated"], 500);
}

TEST_F(JpegVerdict, of_files_with_flipped_bits) {
  Random random(3);
  for (const File& original : files()) {
    for (int i = 0; i < 600; ++i) {
      File file = original;
      const uint64_t reach = i % 2 == 0 ? std::min<uint64_t>(700, file.size()) : file.size();
      for (uint64_t flips = 1 + random.below(3); flips-- > 0;) {
        file[random.below(reach)] ^= static_cast<uint8_t>(1u << random.below(8));
      }
      ASSERT_NO_FATAL_FAILURE(check(file)) << i;
    }
  }
  EXPECT_GT(verdicts_["decoded"], 500);
  EXPECT_GT(verdicts_["corrupt"], 500);
}

TEST_F(JpegVerdict, of_files_with_other_bytes) {
  Random random(4);
  for (const File& original : files()) {
    for (int i = 0; i < 300; ++i) {
      const uint64_t reach =
          i % 2 == 0 ? std::min<uint64_t>(700, original.size()) : original.size();
      const auto at = static_cast<size_t>(random.below(reach));
      File file = original;
      if (i % 3 == 0) {
        File garbage(1 + random.below(40));
        for (uint8_t& byte : garbage) byte = static_cast<uint8_t>(random.next());
        file = inserted(original, at, garbage);
      } else if (i % 3 == 1) {
        const auto bytes = std::min<size_t>(1 + random.below(40), file.size() - at);
        file.erase(file.begin() + static_cast<ptrdiff_t>(at),
                   file.begin() + static_cast<ptrdiff_t>(at + bytes));
      } else {
        file[at] = i % 2 == 0 ? 0xff : static_cast<uint8_t>(random.next());
      }
      ASSERT_NO_FATAL_FAILURE(check(file)) << i;
    }
  }
  EXPECT_GT(verdicts_["corrupt"], 500);
}

// The scan's data alone, where a random bit is a valid code more often than not.
TEST_F(JpegVerdict, of_files_with_random_data) {
  Random random(5);
  for (const File& original : files()) {
    for (int i = 0; i < 60; ++i) {
      File file = original;
      const size_t start = find_marker(file, 0xda) + 20;
      const size_t from = start + random.below(file.size() - start - 2);
      for (size_t at = from; at + 2 < file.size(); ++at) {
        file[at] = static_cast<uint8_t>(random.below(255));  // no markers
      }
      ASSERT_NO_FATAL_FAILURE(check(file)) << i;
    }
  }
}

TEST_F(JpegVerdict, of_kinds_that_only_libjpeg_knows) {
  const File plain = read_file(mini("watch/image_0072.jpg"));
  const Pixels pixels(64 * 64 * 4, 99);
  check(progressive(plain));
  check(with_orientation(plain, 6));
  check(read_file(std::string(STOKER_SOURCE_DIR) + "/tests/decoder/data/arithmetic.jpg"));
  for (const int sampling : {TJSAMP_440, TJSAMP_411}) {
    check(encoded(pixels, 64, 64, TJPF_RGB, sampling));
  }
  check(encoded(pixels, 64, 64, TJPF_CMYK, TJSAMP_444));
  check(encoded(pixels, 15, 64, TJPF_RGB, TJSAMP_420));
  EXPECT_EQ(verdicts_["decoded"], 7);
}

TEST(JpegOptions, all_give_the_samples_of_turbojpeg) {
  const char* const options[] = {
      "",
      ", fit: center_crop",
      ", resize: antialias",
      ", output: float32",
      ", scaled_decode: false",
      ", augment: {random_resized_crop: {}, flip: true}",
      ", augment: {random_resized_crop: {scale: [0.01, 0.2]}, color_jitter: {hue: 0.2}}"};
  const std::vector<std::string> paths = mini_files();
  for (const std::string more : options) {
    const auto own = make_decoder("{type: jpeg, size: 96" + more + "}");
    const auto libjpeg = make_decoder("{type: turbojpeg, size: 96" + more + "}");
    const auto own_session = own->open(), libjpeg_session = libjpeg->open();
    for (size_t i = 0; i < paths.size(); i += 7) {
      const auto orientation = static_cast<uint8_t>(1 + i % 8);
      const File plain = read_file(paths[i]);
      const File file = with_orientation(i % 3 == 0 ? progressive(plain) : plain, orientation);
      const DecodeMode mode{true, i};
      ASSERT_TRUE(decode(*own_session, *own, file, mode, 1) ==
                  decode(*libjpeg_session, *libjpeg, file, mode, 2))
          << paths[i] << more;
    }
  }
}

}  // namespace
}  // namespace stoker
