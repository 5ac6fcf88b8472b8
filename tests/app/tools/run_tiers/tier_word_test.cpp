#include <gtest/gtest.h>

#include "app/tools/run_tiers/tier_folders.h"
#include "io/storage/emulated/emulated.h"

namespace stoker {
namespace {

TEST(TierWord, is_a_folder_and_a_tier_and_folders_may_have_an_equals_sign) {
  EXPECT_EQ(parse_tier_word("data/=hdd").folder, "data/");
  EXPECT_EQ(parse_tier_word("data/=hdd").tier, "hdd");
  EXPECT_EQ(parse_tier_word("runs/lr=1=nfs").folder, "runs/lr=1");
  EXPECT_EQ(parse_tier_word("a={profile: ssd}").tier, "{profile: ssd}");
  for (const char* wrong : {"data", "=hdd", "data=", ""}) {
    EXPECT_THROW(parse_tier_word(wrong), Error) << wrong;
  }
}

TEST(TierWord, a_profile_or_figures_make_a_tier_of_its_own_over_the_folder) {
  const Component<Storage> hdd = tier_over("/data", "hdd");
  EXPECT_EQ(hdd.type(), "emulated");
  EXPECT_EQ(hdd.info().read_mb_per_s, 163);
  EXPECT_EQ(tier_over("/data", "{profile: hdd, read_mb_per_s: 50}").info().read_mb_per_s, 50);
}

TEST(TierWord, what_is_no_tier_is_refused_with_what_may_have_been_meant) {
  const auto message = [](const std::string& tier) -> std::string {
    try {
      tier_over("/data", tier);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::config);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("hd").find("did you mean 'hdd'"), std::string::npos);
  EXPECT_NE(message("{speed: 3}").find("speed"), std::string::npos);
  EXPECT_NE(message("{type: posix}").find("type"), std::string::npos);
}

}  // namespace
}  // namespace stoker
