#include "io/decoder/augment.h"

#include <algorithm>
#include <cmath>

#include "io/core/random.h"

namespace stoker {
namespace {

enum Stream : uint64_t { kCrop = 1, kFlip = 2, kJitter = 3 };

Rect middle(int64_t width, int64_t height, int64_t part_width, int64_t part_height) {
  return {(width - part_width) / 2, (height - part_height) / 2, part_width, part_height};
}

int64_t at_least_one(double pixels) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::nearbyint(pixels)));
}

Rect fitted(const ImageOptions& options, int64_t width, int64_t height) {
  if (options.fit == Fit::stretch) return {0, 0, width, height};
  const auto shorter = static_cast<double>(std::min(width, height));
  const int64_t side = at_least_one(options.crop_ratio * shorter);
  return middle(width, height, side, side);
}

Rect random_crop(const RandomResizedCrop& options, Random random, int64_t width, int64_t height) {
  const double low = options.ratio[0], high = options.ratio[1];
  const auto image_width = static_cast<double>(width), image_height = static_cast<double>(height);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area =
        image_width * image_height * random.uniform(options.scale[0], options.scale[1]);
    const double aspect = std::exp(random.uniform(std::log(low), std::log(high)));
    const auto w = static_cast<int64_t>(std::nearbyint(std::sqrt(area * aspect)));
    const auto h = static_cast<int64_t>(std::nearbyint(std::sqrt(area / aspect)));
    if (w < 1 || w > width || h < 1 || h > height) continue;
    const uint64_t y = random.below(static_cast<uint64_t>(height - h + 1));
    const uint64_t x = random.below(static_cast<uint64_t>(width - w + 1));
    return {static_cast<int64_t>(x), static_cast<int64_t>(y), w, h};
  }
  const double aspect = image_width / image_height;
  if (aspect < low) return middle(width, height, width, at_least_one(image_width / low));
  if (aspect > high) return middle(width, height, at_least_one(image_height * high), height);
  return {0, 0, width, height};
}

double factor(Random& random, double strength) {
  return random.uniform(std::max(0.0, 1 - strength), 1 + strength);
}

Jitter random_jitter(const ColorJitter& options, Random random) {
  Jitter jitter{
      {JitterStep::brightness, JitterStep::contrast, JitterStep::saturation, JitterStep::hue}};
  for (size_t i = jitter.order.size() - 1; i > 0; --i) {
    std::swap(jitter.order[i], jitter.order[random.below(i + 1)]);
  }
  jitter.brightness = factor(random, options.brightness);
  jitter.contrast = factor(random, options.contrast);
  jitter.saturation = factor(random, options.saturation);
  jitter.hue = random.uniform(-options.hue, options.hue);
  return jitter;
}

}  // namespace

SamplePlan plan_sample(const ImageOptions& options, const DecodeMode& mode, int64_t width,
                       int64_t height) {
  SamplePlan plan;
  plan.crop = fitted(options, width, height);
  if (!mode.train) return plan;
  const Augment& augment = options.augment;
  if (augment.random_resized_crop) {
    plan.crop =
        random_crop(*augment.random_resized_crop, Random(mix(mode.seed, kCrop)), width, height);
  }
  plan.flip_x = augment.flip && Random(mix(mode.seed, kFlip)).below(2) == 1;
  if (augment.color_jitter) {
    plan.jitter = random_jitter(*augment.color_jitter, Random(mix(mode.seed, kJitter)));
  }
  return plan;
}

}  // namespace stoker
