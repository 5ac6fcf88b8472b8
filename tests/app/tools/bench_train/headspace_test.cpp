#include "app/tools/bench_train/headspace.h"

#include <gtest/gtest.h>

#include "tests/support/datasets.h"

namespace stoker {
namespace {

std::vector<HeadspaceLevel> levels_of(const std::vector<double>& rates) {
  static constexpr const char* kNames[] = {"device", "decoded", "encoded", "page_cache", "cold"};
  std::vector<HeadspaceLevel> levels;
  for (size_t i = 0; i < rates.size(); ++i) {
    HeadspaceLevel level;
    level.name = kNames[i];
    if (rates[i] > 0) level.images_per_s = {rates[i], rates[i] * 2, rates[i] / 2};
    levels.push_back(level);
  }
  return levels;
}

TEST(HeadspaceVerdict, the_first_level_below_the_device_binds_and_the_largest_drop_is_found) {
  const HeadspaceVerdict verdict = judge(levels_of({1000, 9000, 800, 700, 100}));
  EXPECT_EQ(verdict.binds_first, "encoded");
  EXPECT_EQ(verdict.largest_drop, "cold");
  EXPECT_DOUBLE_EQ(verdict.drop, 7);
}

TEST(HeadspaceVerdict, what_the_device_cannot_take_is_no_drop) {
  const HeadspaceVerdict verdict = judge(levels_of({1000, 90'000, 2000, 1500, 900}));
  EXPECT_EQ(verdict.binds_first, "cold");
  EXPECT_EQ(verdict.largest_drop, "cold");
  EXPECT_DOUBLE_EQ(verdict.drop, 1000.0 / 900);
}

TEST(HeadspaceVerdict, a_device_that_everything_feeds_binds_itself) {
  const HeadspaceVerdict verdict = judge(levels_of({10, 90, 80, 70, 60}));
  EXPECT_EQ(verdict.binds_first, "");
  EXPECT_EQ(verdict.largest_drop, "");
}

TEST(HeadspaceVerdict, a_level_that_was_not_measured_is_passed_over) {
  const HeadspaceVerdict verdict = judge(levels_of({1000, 0, 500, 0, 100}));
  EXPECT_EQ(verdict.binds_first, "encoded");
  EXPECT_EQ(verdict.largest_drop, "cold");
  EXPECT_DOUBLE_EQ(verdict.drop, 5);
}

TEST(HeadspaceLevels, an_impossible_order_is_doubtful_and_so_are_rounds_that_differ) {
  auto levels = levels_of({10, 5000, 1686, 2564, 2011});
  add_doubts(levels);
  EXPECT_EQ(levels[2].conditions.size(), 1u);
  for (const size_t i : {3, 4}) {
    ASSERT_EQ(levels[i].conditions.size(), 2u);
    EXPECT_EQ(levels[i].conditions[0].find("its rounds differ by 300 %"), 0u);
    EXPECT_EQ(levels[i].conditions[1].find("doubtful: it does all of the work of 'encoded'"), 0u);
  }
  levels = levels_of({10, 5000, 1686, 2564, 2011});
  for (HeadspaceLevel& level : levels) level.images_per_s.resize(1);
  levels[4].emulated = true;
  add_doubts(levels);
  EXPECT_TRUE(levels[2].conditions.empty() && levels[4].conditions.empty());
  EXPECT_EQ(levels[3].conditions.size(), 1u);
}

Component<Storage> tier(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<Storage>::global().parse(Section(node, "", "storage", nullptr));
}

TEST(HeadspaceVariants, wrappers_are_taken_off) {
  const auto wrapped = tier(
      "{type: cached, limit: 5, inner: {type: emulated, profile: hdd, inner: {type: posix, root: "
      "/x}}}");
  EXPECT_EQ(innermost(wrapped).type(), "posix");
  EXPECT_EQ(innermost(wrapped).dump().find("root")->scalar, "/x");
  EXPECT_EQ(without_caches(wrapped).type(), "emulated");
  EXPECT_TRUE(wrapped.info().emulated);
  EXPECT_FALSE(innermost(wrapped).info().emulated);
  EXPECT_EQ(innermost(tier("{type: memory}")).type(), "memory");
}

TEST(HeadspaceVariants, copies_in_memory_have_the_room_they_need) {
  const Node node = with_copies_in_memory(tier("{type: posix, root: /x}"), 12345).dump();
  EXPECT_EQ(node.find("type")->scalar, "cached");
  EXPECT_EQ(node.find("in")->find("type")->scalar, "memory");
  EXPECT_EQ(node.find("limit")->scalar, "12345");
  EXPECT_EQ(node.find("inner")->find("root")->scalar, "/x");
}

TEST(HeadspaceVariants, pixels_in_memory_are_decoded_plainly_and_augmented_as_configured) {
  const Node node = parse_yaml(
      "{type: turbojpeg, size: 48, fit: center_crop, output: float32, augment: {flip: true}}",
      "test.yaml");
  const auto decoder = Registry<Decoder>::global().parse(Section(node, "", "decoder", nullptr));
  const auto dataset = TestDataset::parse("{type: image_folder, storage: data}");
  const Node pixels = decoded_in_memory(dataset, decoder, 77, {"data"}).dump();
  EXPECT_EQ(pixels.find("decoder")->find("fit")->scalar, "center_crop");
  EXPECT_EQ(pixels.find("decoder")->find("augment")->find("flip")->scalar, "false");
  EXPECT_EQ(pixels.find("decoder")->find("output")->scalar, "uint8");
  const Node raw = for_pixels(decoder, {48, 48, 3}).dump();
  EXPECT_EQ(raw.find("type")->scalar, "raw");
  EXPECT_EQ(raw.find("height")->scalar, "48");
  EXPECT_EQ(raw.find("size")->scalar, "48");
  EXPECT_EQ(raw.find("output")->scalar, "float32");
  EXPECT_EQ(raw.find("augment")->find("flip")->scalar, "true");
}

}  // namespace
}  // namespace stoker
