#pragma once

#include <cstdint>

namespace stoker {

// ImageNet's mean and deviation of R, G and B in levels of 0 to 255, which torchvision's weights
// expect: value = (level - mean) * scale, each operation rounded to float. That is what LibTorch
// computes from uint8 batches, so that both ways to normalise give the same bits.
constexpr double kMean[3] = {123.675, 116.28, 103.53};
constexpr double kScale[3] = {1 / 58.395, 1 / 57.12, 1 / 57.375};

// For single values; normalise_pixels() does whole images to the same bits.
// One channel is not a photograph but bytes of any kind, which become -1 to 1.
constexpr double kGreyMean[1] = {127.5};
constexpr double kGreyScale[1] = {1 / 127.5};

// The means of samples with `channels` channels, 1 or 3: one value for each.
inline const double* means(int64_t channels) { return channels == 1 ? kGreyMean : kMean; }
inline const double* scales(int64_t channels) { return channels == 1 ? kGreyScale : kScale; }

// The value of a level in channel 0 (R), 1 (G) or 2 (B). Two rounded operations; never let a
// compiler fuse them.
inline float normalised(uint8_t level, int channel) {
  return (static_cast<float>(level) - static_cast<float>(kMean[channel])) *
         static_cast<float>(kScale[channel]);
}

}  // namespace stoker
