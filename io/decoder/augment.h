#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "io/decoder/decoder_options.h"

namespace stoker {

// Whole pixels of an image, the corner at the top left. A value.
struct Rect {
  int64_t x = 0;
  int64_t y = 0;
  // Both at least 1 wherever a crop is asked for.
  int64_t width = 0;
  int64_t height = 0;
  bool operator==(const Rect&) const = default;
};

// One colour change. A sample has all four, in random order.
enum class JitterStep { brightness, contrast, saturation, hue };

// The colour changes of one sample, as they were drawn. A value.
struct Jitter {
  // Each step once.
  std::array<JitterStep, 4> order{};
  // Factors; 1 changes nothing.
  double brightness = 1;
  double contrast = 1;
  double saturation = 1;
  // Turn of the colour circle, -0.5 to 0.5.
  double hue = 0;
};

// How an image becomes a sample: crop, mirror, swap the axes, change the colours, in this order. A
// value; in pixels before any decoding at a reduced size. For the upright image nothing is swapped.
struct SamplePlan {
  // Before anything is mirrored.
  Rect crop;
  bool flip_x = false;
  bool flip_y = false;
  bool transpose = false;
  // The jitter of the resized sample.
  std::optional<Jitter> jitter;
};

// The plan for an upright image of `width` x `height` pixels. A pure function of its arguments; any
// thread. Every part draws from its own stream of random numbers, so that turning one on leaves the
// others as they were. The algorithms are those of torchvision 0.26, transforms/transforms.py:
//   crop:   RandomResizedCrop.get_params: ten tries of an area from `scale` and an aspect ratio
//           whose logarithm is uniform in `ratio`, else the largest middle part of an allowed
//           ratio;
//   jitter: ColorJitter.get_params: a random order of the four steps, uniform factors.
// Without training (or without a random crop) the crop is what `fit` says.
SamplePlan plan_sample(const ImageOptions& options, const DecodeMode& mode, int64_t width,
                       int64_t height);

// Changes the colours of `height` rows of `width` RGB pixels in place, as torchvision's ColorJitter
// does on Pillow images (blends of PIL.ImageEnhance; hue in 8-bit HSV). A pure function of the
// pixels and the jitter, on every CPU. All four steps cost about as much as decoding. Any thread.
void apply_jitter(const Jitter& jitter, int64_t width, int64_t height, uint8_t* pixels);

}  // namespace stoker
