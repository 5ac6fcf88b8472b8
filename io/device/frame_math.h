#pragma once

#include <cstdint>

#include "io/core/sample_spec.h"

// How a pixel of a sample is made from a frame: the arithmetic of the CPU's resizer (resample.h),
// for one output at a time and without tables, so that a GPU's threads can do it. Compiled for the
// host and for CUDA; a test compares it with the resizer bit for bit. On CUDA it must not be
// compiled with fused multiply-add, which rounds once where the resizer rounds twice.

#if defined(__CUDACC__)
#define STOKER_HOST_DEVICE __host__ __device__
#else
#define STOKER_HOST_DEVICE
#endif

namespace stoker {

// The most taps a filter may have here; Framing hands out no frame that needs more.
constexpr int kMaxTaps = 16;

// What is wanted along one axis, as Axis of resample.h. A value.
struct FrameAxis {
  // The crop along this axis, in pixels of the image as it was decoded; fractions where that is a
  // reduced one.
  double begin;
  double length;
  int extent;  // of the image
  int size;    // of the output
  bool flip;
  bool antialias;
  // What the weights of up to eight taps sum to; those of more: 65536.
  int one_of_few;
};

// Which inputs make one output, and with which weights: weights[t] belongs to input first + t. A
// value. Inputs are counted in the image, not in the part of it that the frame holds.
struct FrameTaps {
  int first;
  // From 1 to kMaxTaps.
  int taps;
  uint16_t weights[kMaxTaps];
};

// What the frame's crop asks for along one axis of the image, for an output of `size` pixels.
STOKER_HOST_DEVICE inline FrameAxis frame_axis(const FrameHeader& header, bool vertical, int size) {
  const double scale = 1.0 / header.reduction;
  const bool antialias = header.antialias != 0;
  if (vertical) {
    return {header.crop_y * scale,
            header.crop_height * scale,
            header.image_height,
            size,
            header.flip_y != 0,
            antialias,
            65536};
  }
  return {header.crop_x * scale,
          header.crop_width * scale,
          header.image_width,
          size,
          header.flip_x != 0,
          antialias,
          256};
}

// Not for others.
namespace frame_math {

STOKER_HOST_DEVICE inline int smaller(int a, int b) { return a < b ? a : b; }
STOKER_HOST_DEVICE inline int larger(int a, int b) { return a > b ? a : b; }

// The value must not be negative.
STOKER_HOST_DEVICE inline int round_up(double value) {
  const int whole = static_cast<int>(value);
  return whole + (value > whole ? 1 : 0);
}

// The weight of an input at this distance, before the weights are made to sum to `one`.
STOKER_HOST_DEVICE inline double triangle(double distance, double slope) {
  const double weight = 1 - (distance < 0 ? -distance : distance) * slope;
  return weight > 0 ? weight : 0;
}

// What rounding down at every tap of the vertical pass loses on average.
STOKER_HOST_DEVICE inline unsigned bias(int taps) { return taps <= 8 ? taps / 2 : 0; }

// Fixed-point weights that sum to `one`: what rounding leaves over goes to the largest.
STOKER_HOST_DEVICE inline void make_weights(FrameTaps& taps, double center, double slope, int one) {
  double sum = 0;
  for (int t = 0; t < taps.taps; ++t) sum += triangle(taps.first + t - center, slope);
  const double unit = one / sum;
  int left = one, largest = 0, largest_weight = -1, last = 0;
  for (int t = 0; t < taps.taps; ++t) {
    const double exact = triangle(taps.first + t - center, slope);
    const int rounded = static_cast<int>(exact * unit + 0.5);
    taps.weights[t] = static_cast<uint16_t>(smaller(rounded, 65535));
    left -= taps.weights[t];
    if (rounded > largest_weight) largest = t, largest_weight = rounded;
    last = rounded;
  }
  // With two taps, the first weight is what the second one leaves.
  if (taps.taps == 2) {
    taps.weights[0] = static_cast<uint16_t>(smaller(one - last, 65535));
  } else {
    taps.weights[largest] = static_cast<uint16_t>(smaller(taps.weights[largest] + left, 65535));
  }
}

}  // namespace frame_math

// The inputs and weights of one output pixel, as Filter::assign makes them for all.
STOKER_HOST_DEVICE inline void make_taps(const FrameAxis& axis, int output, FrameTaps& result) {
  using namespace frame_math;
  const int i = axis.flip ? axis.size - 1 - output : output;
  const double scale = axis.length / axis.size;
  const double support = axis.antialias && scale > 1 ? scale : 1;
  const int low = larger(0, static_cast<int>(axis.begin));
  const int high = smaller(axis.extent, round_up(axis.begin + axis.length));
  result.taps = smaller(smaller(high - low, round_up(2 * support)), kMaxTaps);
  double center = axis.begin + (i + 0.5) * scale;
  if (center < low + 0.5) center = low + 0.5;
  if (center > high - 0.5) center = high - 0.5;
  result.first = smaller(larger(static_cast<int>(center - support + 0.5), low), high - result.taps);
  make_weights(result, center - 0.5, 1 / support, result.taps <= 8 ? axis.one_of_few : 65536);
}

// One pixel of the sample, R, G and B. `across` and `down` are the taps of its column and its row
// in the image as it is stored. `pixels` are the frame's; header.x, y, width and height say where
// in the image they lie.
STOKER_HOST_DEVICE inline void make_pixel(const FrameHeader& header, const uint8_t* pixels,
                                          const FrameTaps& across, const FrameTaps& down,
                                          uint8_t levels[3]) {
  using namespace frame_math;
  const int across_sum = across.taps <= 8 ? 0 : 8;
  const int down_tap = down.taps <= 8 ? 16 : 0, down_sum = 16 - down_tap;
  const uint32_t across_start = (header.antialias ? 128u : 0u) << across_sum;
  const uint32_t mask = header.antialias ? 0xff00 : 0xffff;
  const uint32_t down_start = (128 + bias(down.taps)) << down_sum;
  uint32_t sums[3] = {down_start, down_start, down_start};
  for (int y = 0; y < down.taps; ++y) {
    const uint8_t* in = pixels + (static_cast<int64_t>(down.first + y - header.y) * header.width +
                                  (across.first - header.x)) *
                                     3;
    uint32_t line[3] = {across_start, across_start, across_start};
    for (int x = 0; x < across.taps; ++x, in += 3) {
      for (int c = 0; c < 3; ++c) line[c] += uint32_t{in[c]} * across.weights[x];
    }
    for (int c = 0; c < 3; ++c) {
      sums[c] += (line[c] >> across_sum & mask) * down.weights[y] >> down_tap;
    }
  }
  for (int c = 0; c < 3; ++c) levels[c] = static_cast<uint8_t>(sums[c] >> (down_sum + 8));
}

}  // namespace stoker
