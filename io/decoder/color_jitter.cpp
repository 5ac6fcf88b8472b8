#include "io/decoder/color_jitter.h"

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace stoker {
namespace {

// ITU-R BT.601 luma, as Pillow's "L".
constexpr float kRed = 0.299f, kGreen = 0.587f, kBlue = 0.114f;

// OpenCV spreads some operations over threads of its own from 2^16 pixels on. Bands of rows below
// that keep them in this thread, which is one of many already.
template <class F>
void for_each_band(cv::Mat& image, F&& change) {
  const int rows = std::max(1, (1 << 16) / image.cols - 1);
  for (int y = 0; y < image.rows; y += rows) {
    cv::Mat band = image.rowRange(y, std::min(y + rows, image.rows));
    change(band);
  }
}

// pixel * factor + level * (1 - factor), by a table: 256 results serve all pixels.
void blend_with_level(cv::Mat& image, double factor, double level) {
  uint8_t table[256];
  for (int i = 0; i < 256; ++i) {
    table[i] = cv::saturate_cast<uint8_t>(i * factor + level * (1 - factor));
  }
  const cv::Mat lookup(1, 256, CV_8U, table);
  for_each_band(image, [&](cv::Mat& band) { cv::LUT(band, lookup, band); });
}

double mean_luma(const cv::Mat& image) {
  const cv::Scalar mean = cv::mean(image);
  return std::floor(kRed * mean[0] + kGreen * mean[1] + kBlue * mean[2] + 0.5);
}

void saturate(cv::Mat& image, double factor) {
  const auto keep = static_cast<float>(factor);
  const float r = (1 - keep) * kRed, g = (1 - keep) * kGreen, b = (1 - keep) * kBlue;
  const cv::Matx33f blend(r + keep, g, b, r, g + keep, b, r, g, b + keep);
  cv::transform(image, image, blend);
}

void turn_hue(cv::Mat& image, double turn, Buffer& scratch) {
  const auto shift = static_cast<int>(std::lround(turn * 255));
  if (shift == 0) return;
  for_each_band(image, [&](cv::Mat& band) {
    const size_t bytes = band.total() * 3;
    uint8_t* memory = scratch.resize(bytes);
    cv::Mat hsv(band.rows, band.cols, CV_8UC3, memory);
    cv::cvtColor(band, hsv, cv::COLOR_RGB2HSV_FULL);
    for (size_t i = 0; i < bytes; i += 3) {
      memory[i] = static_cast<uint8_t>(memory[i] + shift);  // the circle closes at 256
    }
    cv::cvtColor(hsv, band, cv::COLOR_HSV2RGB_FULL);
  });
}

}  // namespace

void apply_jitter(const Jitter& jitter, int64_t width, int64_t height, uint8_t* pixels,
                  Buffer& scratch) {
  cv::Mat image(static_cast<int>(height), static_cast<int>(width), CV_8UC3, pixels);
  for (const JitterStep step : jitter.order) {
    switch (step) {
      case JitterStep::brightness:
        if (jitter.brightness != 1) blend_with_level(image, jitter.brightness, 0);
        break;
      case JitterStep::contrast:
        if (jitter.contrast != 1) blend_with_level(image, jitter.contrast, mean_luma(image));
        break;
      case JitterStep::saturation:
        if (jitter.saturation != 1) saturate(image, jitter.saturation);
        break;
      case JitterStep::hue:
        turn_hue(image, jitter.hue, scratch);
        break;
    }
  }
}

}  // namespace stoker
