#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "io/core/random.h"
#include "tests/decoder/images.h"

// Real files, damaged in thousands of ways. A decoder must fill the whole sample with what the
// bytes say, or report a bad sample; it never shows what its memory or the slot held before.

namespace stoker {
namespace {

// Two sessions with different pasts and two slots with different contents have to agree.
class Damage : public testing::TestWithParam<const char*> {
 protected:
  Damage()
      : decoder_(make_decoder(std::string("{type: ") + GetParam() +
                              ", size: 64, limits: {max_pixels: 4000000}}")),
        small_(decoder_->open()),
        large_(decoder_->open()) {
    const Pixels white(640 * 480 * 3, 255);
    decode(*large_, *decoder_, encoded(white, 640, 480, TJPF_RGB, TJSAMP_420));
  }

  // Decodes; remembers the outcome.
  std::optional<BadReason> check(const File& file) {
    const auto first = attempt(*small_, file, 0x00);
    const auto second = attempt(*large_, file, 0xff);
    EXPECT_EQ(first.reason, second.reason);
    EXPECT_EQ(first.message, second.message);
    EXPECT_TRUE(first.pixels == second.pixels) << "pixels of another sample";
    ++outcomes_[first.reason ? to_string(*first.reason) : "decoded"];
    return first.reason;
  }

  // One file of each class, none of them large.
  static std::vector<File> files() {
    std::vector<File> result;
    const std::vector<std::string> all = mini_files();
    for (size_t i = 0; i < all.size(); i += 50) result.push_back(read_file(all[i]));
    result.push_back(progressive(result[0]));
    result.push_back(with_orientation(result[1], 6));
    return result;
  }

  std::map<std::string, int> outcomes_;

 private:
  struct Outcome {
    std::optional<BadReason> reason;
    std::string message;
    Pixels pixels;
  };

  Outcome attempt(DecoderSession& session, const File& file, uint8_t poison) const {
    // An exact copy on the heap, so that the address sanitizer sees every read behind its end.
    const File exact(file.begin(), file.end());
    try {
      return {std::nullopt, "", decode(session, *decoder_, exact, {}, poison)};
    } catch (const BadSample& bad) {
      return {bad.reason(), bad.what(), {}};
    }
  }

  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<DecoderSession> small_;
  std::unique_ptr<DecoderSession> large_;
};

INSTANTIATE_TEST_SUITE_P(of_a_file_for, Damage, testing::Values("jpeg", "turbojpeg"),
                         [](const auto& type) { return type.param; });

TEST_P(Damage, a_file_that_is_cut_at_or_around_any_marker_is_a_bad_sample) {
  for (const File& file : files()) {
    for (size_t at = 0; at + 1 < file.size(); ++at) {
      if (file[at] != 0xff) continue;
      for (size_t bytes : {at, at + 1, at + 2}) {
        if (bytes >= file.size()) continue;
        ASSERT_NE(check(cut(file, bytes)), std::nullopt) << bytes;
      }
    }
  }
  EXPECT_EQ(outcomes_["decoded"], 0);
  EXPECT_GT(outcomes_["truncated"], 1000);
}

TEST_P(Damage, a_file_that_is_cut_anywhere_is_a_bad_sample) {
  Random random(1);
  for (const File& file : files()) {
    for (int i = 0; i < 50; ++i) {
      ASSERT_NE(check(cut(file, random.below(file.size()))), std::nullopt);
    }
  }
}

TEST_P(Damage, flipped_bits_give_a_whole_sample_or_a_bad_one) {
  Random random(2);
  for (const File& original : files()) {
    for (int i = 0; i < 300; ++i) {
      File file = original;
      // Half of the damage goes to the header, where it does most.
      const uint64_t reach = i % 2 == 0 ? std::min<uint64_t>(700, file.size()) : file.size();
      for (uint64_t flips = 1 + random.below(3); flips-- > 0;) {
        file[random.below(reach)] ^= static_cast<uint8_t>(1u << random.below(8));
      }
      check(file);
    }
  }
  EXPECT_GT(outcomes_["decoded"], 100);
  EXPECT_GT(outcomes_["corrupt"], 100);
}

TEST_P(Damage, inserted_garbage_gives_a_whole_sample_or_a_bad_one) {
  Random random(3);
  for (const File& original : files()) {
    for (int i = 0; i < 150; ++i) {
      File garbage(1 + random.below(40));
      for (uint8_t& byte : garbage) byte = static_cast<uint8_t>(random.next());
      const uint64_t reach =
          i % 2 == 0 ? std::min<uint64_t>(700, original.size()) : original.size();
      check(inserted(original, random.below(reach), garbage));
    }
  }
  EXPECT_GT(outcomes_["corrupt"], 100);
}

TEST_P(Damage, a_second_frame_header_does_not_change_the_size) {
  for (const File& original : files()) {
    const size_t tables = find_marker(original, 0xc4);
    const File frame{0xff, 0xc0, 0, 11, 8, 0, 64, 0, 64, 1, 1, 0x11, 0};
    EXPECT_EQ(check(inserted(original, tables, frame)), BadReason::corrupt);
  }
}

}  // namespace
}  // namespace stoker
