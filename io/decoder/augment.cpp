#include "io/decoder/augment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

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

// Runs on every x86-64; a function that is compiled for AVX2 has a copy of its own of what it
// calls.
#if defined(__x86_64__)
#define STOKER_AVX2 __attribute__((target("avx2")))
#else
#define STOKER_AVX2
#endif
#define STOKER_COPIED __attribute__((always_inline))

namespace {

// Each step gives the bytes that OpenCV 4 gives on a CPU with AVX2 and FMA (LUT, mean, transform,
// RGB to HSV and back, in 8 bits), because digests of earlier runs rest on them: on every CPU here.
// Where that arithmetic is not the obvious one, a comment says so.

using Pixels = std::span<uint8_t>;

// ITU-R BT.601 luma, as Pillow's "L".
constexpr float kRed = 0.299f, kGreen = 0.587f, kBlue = 0.114f;

template <class Number>
int32_t rounded(Number value) {  // halves to the even neighbour
  return static_cast<int32_t>(std::lrint(value));
}

// value * factor + offset, rounded: in the last bits of its sum with 1.5 * 2^23. Results stay far
// below 2^22.
STOKER_COPIED inline void blend(Pixels values, float factor, float offset) {
  constexpr float kShift = 12'582'912;
  for (uint8_t& value : values) {
    const float sum = static_cast<float>(value) * factor + offset + kShift;
    const int32_t whole = std::bit_cast<int32_t>(sum) - std::bit_cast<int32_t>(kShift);
    value = static_cast<uint8_t>(std::clamp(whole, 0, 255));
  }
}

double mean_luma(Pixels pixels) {
  const double share = 1 / static_cast<double>(pixels.size() / 3);
  // Sums of every 96th byte, which is of the same channel. 257 bytes fit into 16 bits.
  constexpr size_t kStride = 96, kMost = 257;
  std::array<uint64_t, 3> sums{};
  while (pixels.size() >= kStride) {
    std::array<uint16_t, kStride> parts{};
    const size_t rows = std::min(pixels.size() / kStride, kMost);
    for (size_t row = 0; row < rows; ++row) {
      const uint8_t* const at = &pixels[row * kStride];
      for (size_t i = 0; i < kStride; ++i) parts[i] = static_cast<uint16_t>(parts[i] + at[i]);
    }
    for (size_t i = 0; i < kStride; ++i) sums[i % 3] += parts[i];
    pixels = pixels.subspan(rows * kStride);
  }
  for (size_t i = 0; i < pixels.size(); ++i) sums[i % 3] += pixels[i];
  const auto mean = [&](size_t c) { return static_cast<double>(sums[c]) * share; };
  return std::floor(kRed * mean(0) + kGreen * mean(1) + kBlue * mean(2) + 0.5);
}

// 32 pixels, each channel by itself: the compiler makes vector code of loops over them.
constexpr size_t kGroup = 32;
using Channel = std::array<int32_t, kGroup>;
using Group = std::array<Channel, 3>;

// change(group, whole) for all pixels in turn; a last group that is not whole is filled up with
// black.
template <class F>
STOKER_COPIED inline void for_each_group(Pixels pixels, F&& change) {
  for (size_t begin = 0; begin < pixels.size(); begin += 3 * kGroup) {
    const size_t bytes = std::min(3 * kGroup, pixels.size() - begin);
    const bool whole = bytes == 3 * kGroup;
    std::array<uint8_t, 3 * kGroup> rest{};
    if (!whole) std::memcpy(rest.data(), &pixels[begin], bytes);
    uint8_t* at = whole ? &pixels[begin] : rest.data();
    Group group;
    for (size_t i = 0; i < kGroup; ++i) {
      for (size_t c = 0; c < 3; ++c) group[c][i] = at[3 * i + c];
    }
    change(group, whole);
    for (size_t i = 0; i < kGroup; ++i) {
      for (size_t c = 0; c < 3; ++c) at[3 * i + c] = static_cast<uint8_t>(group[c][i]);
    }
    if (!whole) std::memcpy(&pixels[begin], rest.data(), bytes);
  }
}

// Each channel is itself times `keep`, and the pixel's luma times the rest. Weights are in 1024ths;
// that of a channel in its own result is rounded as one number, so `own` is not the same for all.
struct Saturation {
  std::array<int32_t, 3> luma, own;
  explicit Saturation(float keep) {
    constexpr std::array kLuma{kRed, kGreen, kBlue};
    for (size_t c = 0; c < 3; ++c) {
      const float share = (1 - keep) * kLuma[c];
      luma[c] = rounded(share * 1024);
      own[c] = rounded((share + keep) * 1024) - luma[c];
    }
  }
};

STOKER_COPIED inline void saturate(Pixels pixels, const Saturation& weights) {
  for_each_group(pixels,
                 [luma = weights.luma, own = weights.own](Group& group, bool) STOKER_COPIED {
                   for (size_t i = 0; i < kGroup; ++i) {
                     const int32_t r = group[0][i], g = group[1][i], b = group[2][i];
                     const int32_t grey = luma[0] * r + luma[1] * g + luma[2] * b + 512;
                     group[0][i] = std::clamp((grey + own[0] * r) >> 10, 0, 255);
                     group[1][i] = std::clamp((grey + own[1] * g) >> 10, 0, 255);
                     group[2][i] = std::clamp((grey + own[2] * b) >> 10, 0, 255);
                   }
                 });
}

// One channel of a colour at `sector` sixths of the circle beyond the place where this channel
// begins to be the largest one: it is that for two sixths, then falls, is the smallest for two, and
// rises.
STOKER_COPIED inline int32_t channel(int32_t sector, int32_t largest, int32_t middle,
                                     int32_t smallest) {
  const int32_t beyond = sector >= 6 ? sector - 6 : sector;
  const bool between = (beyond == 2) | (beyond == 5);
  const int32_t other = between ? middle : smallest;
  return beyond < 2 ? largest : other;
}

// By Smith's hexcone to hue (in 256ths of the circle), saturation and largest channel, and back
// with the hue moved on. On the way back the circle has 255 parts, and 255 is red again as 0 is.
template <class ToByte>
STOKER_COPIED inline void turn_hue_of(Group& group, int32_t shift, ToByte&& to_byte) {
  for (size_t i = 0; i < kGroup; ++i) {
    // Choices are between values that are there already, so that the compiler needs no branches.
    const int32_t r = group[0][i], g = group[1][i], b = group[2][i];
    const int32_t more = r > g ? r : g, less = r < g ? r : g;
    const int32_t largest = more > b ? more : b, range = largest - (less < b ? less : b);
    const int32_t from_red = g - b, from_green = b - r + 2 * range, from_blue = r - g + 4 * range;
    const int32_t from_others = largest == g ? from_green : from_blue;
    const int32_t arc = largest == r ? from_red : from_others;

    // Divisions are multiplications by rounded 4096ths; nothing is divided by 0.
    const auto divisor = [](int32_t value) { return static_cast<float>(value > 1 ? value : 1); };
    const auto per_value = static_cast<int32_t>(255 * 4096.0f / divisor(largest) + 0.5f);
    const auto per_range = static_cast<int32_t>(256 * 4096.0f / 6 / divisor(range) + 0.5f);
    const float saturation = static_cast<float>((range * per_value + 2048) >> 12) * (1.0f / 255);
    const int32_t hue = (((arc * per_range + 2048) >> 12) + shift) & 255;

    const float place = static_cast<float>(hue) * (6.0f / 255),
                value = static_cast<float>(largest) * (1.0f / 255);
    const auto sector = static_cast<int32_t>(place);
    const float into = place - static_cast<float>(sector), odd = static_cast<float>(sector & 1);
    const float lack = (1 - odd) + (2 * odd - 1) * into;  // odd sectors fall, even ones rise
    // In double, where the product is exact: the one rounding of a fused multiply-add.
    const auto middle =
        static_cast<float>(1 - static_cast<double>(saturation) * static_cast<double>(lack));
    const int32_t top = to_byte(value * 255), centre = to_byte(value * middle * 255),
                  bottom = to_byte(value * (1 - saturation) * 255);
    group[0][i] = channel(sector + 1, top, centre, bottom);
    group[1][i] = channel(sector + 5, top, centre, bottom);
    group[2][i] = channel(sector + 3, top, centre, bottom);
  }
}

// Fractions are cut off in the whole groups of a row, and rounded in the rest of it.
STOKER_COPIED inline void turn_hue(Pixels row, int32_t shift) {
  for_each_group(row, [shift](Group& group, bool whole) STOKER_COPIED {
    if (whole) {
      turn_hue_of(group, shift,
                  [](float value) STOKER_COPIED { return static_cast<int32_t>(value); });
    } else {
      turn_hue_of(group, shift, rounded<float>);
    }
  });
}

struct Kernels {
  void (*blend)(Pixels values, float factor, float offset);
  void (*saturate)(Pixels, const Saturation&);
  void (*turn_hue)(Pixels row, int32_t shift);
};

Kernels kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return {[](Pixels values, float factor, float offset)
                STOKER_AVX2 { blend(values, factor, offset); },
            [](Pixels pixels, const Saturation& weights) STOKER_AVX2 { saturate(pixels, weights); },
            [](Pixels row, int32_t shift) STOKER_AVX2 { turn_hue(row, shift); }};
  }
#endif
  return {[](Pixels values, float factor, float offset) { blend(values, factor, offset); },
          [](Pixels pixels, const Saturation& weights) { saturate(pixels, weights); },
          [](Pixels row, int32_t shift) { turn_hue(row, shift); }};
}

// pixel * factor + level * (1 - factor) in double, by a table: 256 results serve all pixels. Where
// arithmetic in float has the same 256 results, as nearly always, it is used, in half of the time.
void blend_with_level(Pixels pixels, double factor, double level, const Kernels& kernels) {
  const double offset = level * (1 - factor);
  std::array<uint8_t, 256> table, in_float;
  for (size_t i = 0; i < 256; ++i) {
    const double blended = static_cast<double>(i) * factor + offset;
    table[i] = static_cast<uint8_t>(std::clamp(rounded(blended), 0, 255));
    in_float[i] = static_cast<uint8_t>(i);
  }
  const auto single = static_cast<float>(factor), rest = static_cast<float>(offset);
  kernels.blend(in_float, single, rest);
  if (in_float == table) return kernels.blend(pixels, single, rest);
  for (uint8_t& value : pixels) value = table[value];
}

}  // namespace

void apply_jitter(const Jitter& jitter, int64_t width, int64_t height, uint8_t* pixels) {
  static const Kernels kKernels = kernels();
  const size_t row = static_cast<size_t>(width) * 3;
  const Pixels image(pixels, row * static_cast<size_t>(height));
  const auto shift = static_cast<int32_t>(std::lround(jitter.hue * 255));
  for (const JitterStep step : jitter.order) {
    if (step == JitterStep::brightness && jitter.brightness != 1) {
      blend_with_level(image, jitter.brightness, 0, kKernels);
    } else if (step == JitterStep::contrast && jitter.contrast != 1) {
      blend_with_level(image, jitter.contrast, mean_luma(image), kKernels);
    } else if (step == JitterStep::saturation && jitter.saturation != 1) {
      kKernels.saturate(image, Saturation(static_cast<float>(jitter.saturation)));
    } else if (step == JitterStep::hue && shift != 0) {
      for (size_t i = 0; i < image.size(); i += row)
        kKernels.turn_hue(image.subspan(i, row), shift);
    }
  }
}

}  // namespace stoker
