// Colour jitter was OpenCV's work once, and digests of runs of that time hold: the same bytes,
// compared with OpenCV on a CPU whose vector code it was (AVX2 and FMA).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "io/core/random.h"
#include "io/decoder/augment.h"
#include "tests/support/short_tests.h"

namespace stoker {
namespace {

using Pixels = std::vector<uint8_t>;

void blend_with_level(cv::Mat& image, double factor, double level) {
  cv::Mat table(1, 256, CV_8U);
  for (int i = 0; i < 256; ++i) {
    table.at<uint8_t>(i) = cv::saturate_cast<uint8_t>(i * factor + level * (1 - factor));
  }
  cv::LUT(image, table, image);
}

double mean_luma(const cv::Mat& image) {
  const cv::Scalar mean = cv::mean(image);
  return std::floor(0.299f * mean[0] + 0.587f * mean[1] + 0.114f * mean[2] + 0.5);
}

void saturate(cv::Mat& image, double factor) {
  const auto keep = static_cast<float>(factor);
  const float r = (1 - keep) * 0.299f, g = (1 - keep) * 0.587f, b = (1 - keep) * 0.114f;
  cv::transform(image, image, cv::Matx33f(r + keep, g, b, r, g + keep, b, r, g, b + keep));
}

void turn_hue(cv::Mat& image, int shift) {
  if (shift == 0) return;
  cv::Mat hsv;
  cv::cvtColor(image, hsv, cv::COLOR_RGB2HSV_FULL);
  for (int y = 0; y < hsv.rows; ++y) {
    for (int x = 0; x < hsv.cols; ++x) hsv.ptr(y)[3 * x] += static_cast<uint8_t>(shift);
  }
  cv::cvtColor(hsv, image, cv::COLOR_HSV2RGB_FULL);
}

Pixels by_opencv(const Jitter& jitter, int width, int height, Pixels pixels) {
  cv::Mat image(height, width, CV_8UC3, pixels.data());
  for (const JitterStep step : jitter.order) {
    if (step == JitterStep::brightness) blend_with_level(image, jitter.brightness, 0);
    if (step == JitterStep::contrast) {
      blend_with_level(image, jitter.contrast, mean_luma(image));
    }
    if (step == JitterStep::saturation) saturate(image, jitter.saturation);
    if (step == JitterStep::hue) turn_hue(image, static_cast<int>(std::lround(jitter.hue * 255)));
  }
  return pixels;
}

Pixels by_us(const Jitter& jitter, int width, int height, Pixels pixels) {
  apply_jitter(jitter, width, height, pixels.data());
  return pixels;
}

// Noise, photograph-like pixels of little colour, or the corners of the cube of colours.
Pixels some_image(int width, int height, Random& random) {
  Pixels pixels(static_cast<size_t>(width * height * 3));
  const uint64_t kind = random.below(3);
  for (size_t i = 0; i < pixels.size(); ++i) {
    const uint64_t number = random.next();
    if (kind == 0) pixels[i] = static_cast<uint8_t>(number);
    if (kind == 1) {
      pixels[i] = static_cast<uint8_t>(i % 3 == 0 ? number : pixels[i - 1] + number % 8);
    }
    if (kind == 2) pixels[i] = number % 2 == 0 ? 0 : 255;
  }
  return pixels;
}

// As options allow it: factors up to 1 + 10.
Jitter some_jitter(Random& random, double strength) {
  Jitter jitter{
      {JitterStep::brightness, JitterStep::contrast, JitterStep::saturation, JitterStep::hue}};
  for (size_t i = 3; i > 0; --i) std::swap(jitter.order[i], jitter.order[random.below(i + 1)]);
  const auto factor = [&] { return random.uniform(std::max(0.0, 1 - strength), 1 + strength); };
  jitter.brightness = factor();
  jitter.contrast = factor();
  jitter.saturation = factor();
  jitter.hue = random.uniform(-0.5, 0.5);
  return jitter;
}

class ColorJitterReference : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cv::checkHardwareSupport(CV_CPU_AVX2)) {
      GTEST_SKIP() << "OpenCV rounds otherwise without AVX2";
    }
  }
};

// Widths that are no multiple of 32 among them, whose last pixels OpenCV treats otherwise.
TEST_F(ColorJitterReference, all_steps_give_the_same_bytes) {
  Random random(5);
  for (int round = 0; round < 1500; ++round) {
    const int width = 1 + static_cast<int>(random.below(150));
    const int height = 1 + static_cast<int>(random.below(20));
    const Pixels image = some_image(width, height, random);
    const Jitter jitter = some_jitter(random, round % 2 == 0 ? 0.4 : 10);
    ASSERT_EQ(by_us(jitter, width, height, image), by_opencv(jitter, width, height, image))
        << round << ": " << width << " x " << height;
  }
}

// All 2^24 colours, in rows with a last group that is not whole; every hue occurs on the way.
TEST_F(ColorJitterReference, every_colour_turns_to_the_same_colour) {
  constexpr int kWidth = 16 * 256 + 16;
  Pixels image;
  // One colour in three, whose three bytes have every value: all of them with STOKER_LONG=1.
  const auto step = static_cast<int>(stride(3));
  for (int i = 0; i < 1 << 24 || image.size() % (size_t{3} * kWidth) != 0; i += step) {
    for (const int shift : {16, 8, 0}) image.push_back(static_cast<uint8_t>(i >> shift));
  }
  const int height = static_cast<int>(image.size()) / 3 / kWidth;
  for (const double hue : {0.37, -0.01}) {
    Jitter jitter{{JitterStep::hue}};
    jitter.hue = hue;
    EXPECT_TRUE(by_us(jitter, kWidth, height, image) == by_opencv(jitter, kWidth, height, image));
  }
}

}  // namespace
}  // namespace stoker
