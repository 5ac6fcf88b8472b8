#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "io/core/random.h"
#include "io/decoder/augment.h"

namespace stoker {
namespace {

using Pixels = std::vector<uint8_t>;

constexpr int64_t kWidth = 300, kHeight = 250;  // more than 2^16 pixels: several bands

Pixels coloured_noise() {
  Pixels pixels(kWidth * kHeight * 3);
  Random random(1);
  for (uint8_t& byte : pixels) byte = static_cast<uint8_t>(random.next());
  return pixels;
}

Jitter nothing() {
  return {{JitterStep::brightness, JitterStep::contrast, JitterStep::saturation, JitterStep::hue}};
}

Pixels changed(const Jitter& jitter) {
  Pixels pixels = coloured_noise();
  apply_jitter(jitter, kWidth, kHeight, pixels.data());
  return pixels;
}

double luma(const uint8_t* pixel) { return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]; }

// PIL.ImageEnhance: other * (1 - factor) + image * factor, clipped.
template <class F>
void expect_blend(const Pixels& result, double factor, F&& other) {
  const Pixels image = coloured_noise();
  for (size_t i = 0; i < image.size(); ++i) {
    const double level = other(&image[i - i % 3]);
    ASSERT_NEAR(result[i], std::clamp(level * (1 - factor) + image[i] * factor, 0.0, 255.0), 1.01);
  }
}

TEST(ColorJitter, factors_of_one_change_nothing) {
  EXPECT_EQ(changed(nothing()), coloured_noise());
}

TEST(ColorJitter, brightness_blends_with_black) {
  Jitter jitter = nothing();
  jitter.brightness = 1.7;
  expect_blend(changed(jitter), 1.7, [](const uint8_t*) { return 0.0; });
}

TEST(ColorJitter, contrast_blends_with_the_mean_luma) {
  const Pixels image = coloured_noise();
  double sum = 0;
  for (size_t i = 0; i < image.size(); i += 3) sum += luma(&image[i]);
  const double mean = std::floor(sum / (kWidth * kHeight) + 0.5);
  Jitter jitter = nothing();
  jitter.contrast = 0.4;
  expect_blend(changed(jitter), 0.4, [&](const uint8_t*) { return mean; });
}

TEST(ColorJitter, saturation_blends_with_the_pixels_luma) {
  Jitter jitter = nothing();
  jitter.saturation = 1.5;
  expect_blend(changed(jitter), 1.5, luma);
}

TEST(ColorJitter, hue_turns_red_to_green_to_blue) {
  Pixels pixels{255, 0, 0, 0, 255, 0, 0, 0, 255, 90, 90, 90};
  Jitter jitter = nothing();
  jitter.hue = 1.0 / 3;
  apply_jitter(jitter, 4, 1, pixels.data());
  const Pixels expected{0, 255, 0, 0, 0, 255, 255, 0, 0, 90, 90, 90};
  for (size_t i = 0; i < pixels.size(); ++i) EXPECT_NEAR(pixels[i], expected[i], 6) << i;
}

TEST(ColorJitter, the_order_of_the_steps_counts) {
  Jitter jitter = nothing();
  jitter.brightness = 1.8;
  jitter.contrast = 0.5;
  const Pixels first = changed(jitter);
  std::swap(jitter.order[0], jitter.order[1]);
  EXPECT_NE(changed(jitter), first);
}

}  // namespace
}  // namespace stoker
