#include "io/decoder/augment.h"

#include <gtest/gtest.h>

#include <set>

#include "io/decoder/transform.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

ImageOptions options(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  ImageOptions result;
  read_struct(Section(node, "", "decoder", nullptr), result);
  return result;
}

constexpr DecodeMode kTrain{true, 1};

TEST(Augment, nothing_is_changed_where_nothing_is_asked_for) {
  const SamplePlan plan = plan_sample(options("{}"), kTrain, 300, 200);
  EXPECT_EQ(plan.crop, (Rect{0, 0, 300, 200}));
  EXPECT_FALSE(plan.flip_x);
  EXPECT_FALSE(plan.jitter);
}

TEST(Augment, evaluation_is_never_augmented) {
  const ImageOptions all =
      options("{augment: {random_resized_crop: {}, flip: true, color_jitter: {hue: 0.5}}}");
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const SamplePlan plan = plan_sample(all, {false, seed}, 300, 200);
    EXPECT_EQ(plan.crop, (Rect{0, 0, 300, 200}));
    EXPECT_FALSE(plan.flip_x);
    EXPECT_FALSE(plan.jitter);
  }
}

TEST(Augment, a_center_crop_is_the_middle_square) {
  const SamplePlan plan = plan_sample(options("{fit: center_crop}"), {}, 301, 200);
  EXPECT_EQ(plan.crop, (Rect{63, 12, 175, 175}));
  const ImageOptions whole = options("{fit: center_crop, crop_ratio: 1}");
  EXPECT_EQ(plan_sample(whole, {}, 100, 161).crop, (Rect{0, 30, 100, 100}));
  const ImageOptions least = options("{fit: center_crop, crop_ratio: 0.01}");
  EXPECT_EQ(plan_sample(least, {}, 10, 10).crop, (Rect{4, 4, 1, 1}));
}

TEST(Augment, random_crops_lie_inside_and_have_the_areas_and_ratios_asked_for) {
  const ImageOptions crop =
      options("{augment: {random_resized_crop: {scale: [0.2, 0.5], ratio: [0.5, 2]}}}");
  double smallest = 1, largest = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const Rect rect = plan_sample(crop, {true, seed}, 400, 300).crop;
    ASSERT_TRUE(rect.x >= 0 && rect.y >= 0 && rect.x + rect.width <= 400 &&
                rect.y + rect.height <= 300);
    const auto width = static_cast<double>(rect.width), height = static_cast<double>(rect.height);
    const double area = width * height / 120'000;
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    ASSERT_NEAR(width / height, 1.2, 0.82);
  }
  EXPECT_NEAR(smallest, 0.2, 0.005);
  EXPECT_NEAR(largest, 0.5, 0.005);
}

TEST(Augment, where_no_crop_fits_it_is_the_largest_middle_part) {
  const ImageOptions crop = options("{augment: {random_resized_crop: {scale: [1, 1]}}}");
  EXPECT_EQ(plan_sample(crop, kTrain, 400, 100).crop, (Rect{133, 0, 133, 100}));
  EXPECT_EQ(plan_sample(crop, kTrain, 100, 400).crop, (Rect{0, 133, 100, 133}));
}

TEST(Augment, half_of_the_samples_are_mirrored) {
  const ImageOptions flip = options("{augment: {flip: true}}");
  int flipped = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    flipped += plan_sample(flip, {true, seed}, 30, 20).flip_x ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 5000, 200);
}

TEST(Augment, jitter_draws_every_order_and_stays_in_its_range) {
  const ImageOptions jitter = options("{augment: {color_jitter: {brightness: 1.5, hue: 0.25}}}");
  std::set<std::array<JitterStep, 4>> orders;
  double darkest = 10, brightest = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const SamplePlan plan = plan_sample(jitter, {true, seed}, 30, 20);
    orders.insert(plan.jitter->order);
    darkest = std::min(darkest, plan.jitter->brightness);
    brightest = std::max(brightest, plan.jitter->brightness);
    ASSERT_LE(std::abs(plan.jitter->hue), 0.25);
    ASSERT_EQ(plan.jitter->contrast, 1);
  }
  EXPECT_EQ(orders.size(), 24u);
  EXPECT_NEAR(darkest, 0, 0.01);
  EXPECT_NEAR(brightest, 2.5, 0.01);
}

TEST(Augment, turning_one_part_on_leaves_the_others_as_they_were) {
  const ImageOptions crop = options("{augment: {random_resized_crop: {}}}");
  const ImageOptions all =
      options("{augment: {random_resized_crop: {}, flip: true, color_jitter: {hue: 0.1}}}");
  for (uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(plan_sample(crop, {true, seed}, 300, 200).crop,
              plan_sample(all, {true, seed}, 300, 200).crop);
  }
}

TEST(Augment, crops_are_drawn_on_the_upright_image) {
  const SamplePlan upright{{10, 20, 50, 40}, true, false, false, std::nullopt};
  // Orientation 6: the stored image (300 x 200) is shown turned to the right, 200 x 300.
  const SamplePlan plan = orient(upright, 6, 300, 200);
  EXPECT_EQ(plan.crop, (Rect{20, 140, 40, 50}));
  EXPECT_TRUE(plan.transpose);
  EXPECT_FALSE(plan.flip_x);
  EXPECT_FALSE(plan.flip_y);  // orientation and augmentation mirror the same axis
}

TEST(Augment, impossible_options_are_refused) {
  const auto error = [](const std::string& yaml) { return error_of([&] { options(yaml); }); };
  EXPECT_EQ(error("{augment: {random_resized_crop: {scale: [0.5, 0.1]}}}"),
            "test.yaml:1:41: decoder.augment.random_resized_crop: 'scale' must be [low, high] with "
            "0 < low <= high <= 1");
  EXPECT_EQ(error("{augment: {random_resized_crop: {ratio: [2]}}}"),
            "test.yaml:1:41: decoder.augment.random_resized_crop: 'ratio' must be [low, high] with "
            "0 < low <= high");
  EXPECT_EQ(error("{resize: cubic}"),
            "test.yaml:1:10: decoder: 'resize' must be one of bilinear, antialias, got 'cubic'");
}

}  // namespace
}  // namespace stoker
