#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// The arithmetic of the resizer: separable filters in 16-bit fixed point.
//
// 1. A weight is a fraction of 65536; the weights of one output sum to it exactly.
// 2. Horizontal pass: pixel * 256 * weight / 65536, rounded down, summed over the taps: 8.8 fixed
//    point. What rounding down loses on average (half a unit per tap) is added again.
// 3. Vertical pass: the same from 8.8 values, then rounded to 8 bits. An image that is not scaled
//    comes out as it was.
// 4. Above kFewTaps (antialias, scale above 4: rare, as JPEGs are decoded at a smaller scale then)
//    these losses would add up: such sums are made in 32 bits and rounded once.
// All variants for different processors do exactly this, so their results are equal.

namespace stoker {

// bilinear:  two taps at half-pixel centres whatever the scale, as OpenCV's INTER_LINEAR.
// antialias: a triangle that widens with the scale, rounded to 8 bits between the passes, as
//            Pillow's Image.BILINEAR (Resample.c, precompute_coeffs) and torchvision's antialias.
enum class ResizeMethod { bilinear, antialias };

// What is wanted along one axis: `size` pixels out of [begin, begin + length) of `extent` pixels.
struct Axis {
  ResizeMethod method = ResizeMethod::bilinear;
  int64_t extent = 0;
  double begin = 0;
  double length = 0;
  int64_t size = 0;
  bool flip = false;
  bool operator==(const Axis&) const = default;
};

// Which inputs make each output along one axis, and with which weights.
struct Filter {
  Axis axis;
  int taps = 0;
  std::vector<int32_t> first;     // per output; first + taps never passes the end of the crop
  std::vector<uint16_t> weights;  // taps per output

  // False: it is the axis of the last call, and nothing had to be done.
  bool assign(const Axis& wanted);
  const uint16_t* weights_of(int64_t output) const {
    return weights.data() + static_cast<size_t>(output) * static_cast<size_t>(taps);
  }

 private:
  void reverse();
  std::vector<double> exact_;
};

// A filter for the horizontal pass with what the vector code wants to know about it.
//
// A line (the result of a horizontal pass) holds four 16-bit values (R, G, B, 0) per pixel, in
// groups of eight pixels with the order 0 1 4 5 2 3 6 7, which packing two vectors to bytes puts
// right.
struct Columns {
  static constexpr int kGroup = 8;
  static constexpr int kLineGroup = 4 * kGroup;

  Filter filter;
  int64_t groups = 0;
  uint16_t bias = 0;  // is added before `mask` is applied
  uint16_t mask = 0;  // 0xff00 rounds to 8 bits
  // Two neighbours are made from one load of 16 bytes, five pixels: so many of their taps lie in it
  // for every pair. 0: too many taps, or the first taps of some pair are too far apart.
  int taps_per_load = 0;
  std::vector<int32_t> offsets;   // per group: byte offset of pixels 0-1, 4-5, 2-3, 6-7
  std::vector<uint8_t> shuffles;  // per group: 64 indices that spread the bytes of such a load
  std::vector<uint16_t> weights;  // per group and tap: kLineGroup weights

  void assign(const Axis& axis);
  size_t line_size() const { return static_cast<size_t>(groups) * kLineGroup; }

 private:
  void pack();
  void pack_pair(size_t group, int lane, int64_t left, int64_t right);
};

// Where a pixel of a line starts.
constexpr size_t line_offset(int64_t pixel) {
  constexpr int kPlace[] = {0, 1, 4, 5, 2, 3, 6, 7};
  return static_cast<size_t>(pixel / 8 * 8 + kPlace[pixel % 8]) * 4;
}

// The two passes for one kind of processor.
struct Resampling {
  void (*horizontal)(const uint8_t* row, const Columns& columns, uint16_t* line);
  void (*vertical)(const uint16_t* const* lines, const uint16_t* weights, int taps, int64_t width,
                   uint8_t* out);
};

Resampling portable_resampling();
Resampling avx2_resampling();  // only where the processor has AVX2
Resampling best_resampling();

constexpr int kFewTaps = 8;

// What rounding down at every tap loses on average.
constexpr uint16_t tap_bias(int taps) {
  return static_cast<uint16_t>(taps <= kFewTaps ? taps / 2 : 0);
}

}  // namespace stoker
